#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "access/authenticator.h"
#include "access/token_book.h"
#include "base/clock.h"
#include "base/rate_limit.h"
#include "base/result.h"
#include "net/route_options.h"

namespace assay {

struct AuditRecord;

/// Why somebody is not let in; how that looks is for whoever answers.
struct TurnedAway {
  int status = 401;
  Error error;
  std::optional<Principal> known = {};  ///< who lacks the scope; nothing: somebody unknown, or another reason
};

struct GatekeeperOptions {
  bool behind_proxy = false;  ///< a proxy on this machine says where requests come from
  /// Is told who changed what, or tried to, and adds the time: any thread, may wait for a disk.
  std::function<void(AuditRecord record)> audit = {};
  /// Is told for whom the server had no room: on its I/O thread, so it must return at once.
  std::function<void(const Principal& caller)> no_room = {};
};

/// Decides who may speak, and has it written down who changed something. Refusals are logged, never the secret. Any
/// thread.
class Gatekeeper {
 public:
  /// Knows whom the book knows, and whom the others do. The book must outlive it.
  explicit Gatekeeper(TokenBook& book, std::vector<std::unique_ptr<Authenticator>> others = {},
                      GatekeeperOptions options = {});

  TokenBook& book() { return book_; }

  /// Who asks, if they have the scope and, where a browser sent a cookie for something that changes, its counterpart in
  /// a header (else 403): 401 for who is not known, or known as something else (a node that asks for what
  /// is people's, or the other way round), 403 without the scope, 503 where nobody can tell. Its `still_allowed` asks
  /// the same again, and is good for as long as the gatekeeper.
  std::variant<Principal, TurnedAway> admit(const HttpRequest& request, Scope scope);
  /// How somebody is told that they are not let in.
  using Answer = std::function<HttpResponse(const HttpRequest& request, const TurnedAway& away)>;
  /// The same from the head alone, for `RouteOptions::admit`: whose request it is, so that nobody has several shares of
  /// what all have together. Who shows nothing about themselves counts by address. No scope: open to all.
  Admission look_at(const HttpRequest& head, std::optional<Scope> scope, const Answer& turn_away);
  /// Makes a key good for a node, for a caller with a join token, or lets it wait; or says why not. 429: too many join
  /// at once, whoever they are.
  std::variant<TokenBook::Joined, TurnedAway> join(const HttpRequest& request, const std::string& node,
                                                   const std::string& key);

  /// Has it written down that somebody known has changed something, or was refused: `what` is "POST /api/…/{node}".
  void note_change(const HttpRequest& request, const Principal& caller, std::string what, int status,
                   std::string detail) const;

 private:
  /// The part of a request that is looked at, and what refusals call it.
  struct Question {
    Claims claims;
    std::string what;       ///< "GET /api/v1/nodes from 10.0.0.7"
    std::string csrf = {};  ///< what it shows beside a cookie
    bool changes = false;   ///< whether its method may change something
  };
  Question question_of(const HttpRequest& request) const;
  std::variant<Principal, TurnedAway> identify(const Question& question, Principal::Kind kind);
  std::variant<Principal, TurnedAway> admit(const Question& question, Scope scope);
  TurnedAway refuse(const Question& question, int status, std::string_view why);
  /// 401 for a secret that is not good; 503 where the book itself cannot be read, which is not the caller's fault.
  TurnedAway refuse(const Question& question, const Error& error);

  /// At most so many lines in so long: whoever guesses tokens must not fill the disk with our log.
  static constexpr std::size_t kLoggedPerPeriod = 100;
  static constexpr Nanos kLogPeriod = std::chrono::minutes(1);
  void log_refusal(const std::string& line);
  bool may_join_now();
  /// A line for each, but not for each of thousands.
  void log_join(const std::string& line);

  TokenBook& book_;
  const GatekeeperOptions options_;
  std::vector<std::unique_ptr<Authenticator>> authenticators_;
  std::mutex log_mutex_;
  SteadyTime logged_since_;
  std::size_t logged_ = 0;
  std::size_t unlogged_ = 0;

  /// A rack that is switched on gets in at once; whoever has found a join token does not fill the cluster with names.
  static constexpr double kJoinsAtOnce = 1024;
  static constexpr double kJoinsPerSecond = 8;
  std::mutex joins_mutex_;
  RateLimit joins_{kJoinsAtOnce, kJoinsPerSecond};
  RateLimit logged_joins_{20, 0.2};
  std::size_t unlogged_joins_ = 0;
};

}  // namespace assay
