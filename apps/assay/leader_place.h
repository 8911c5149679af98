#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/json.h"
#include "base/result.h"
#include "context.h"
#include "net/http_client.h"

namespace CLI {
class App;
}

namespace assay {

/// Where a leader keeps what is its own, below the data folder.
struct LeaderPlace {
  fs::path folder;

  explicit LeaderPlace(const fs::path& data) : folder(data / "leader") {}
  fs::path tokens() const { return folder / "tokens.jsonl"; }
  fs::path cluster() const { return folder / "cluster.db"; }
  fs::path series() const { return folder / "series"; }
  fs::path tls() const { return folder / "tls"; }
  /// The token with which the owner of the data folder speaks to a leader that runs there.
  fs::path own_token() const { return folder / "owner.token"; }
  /// Where a running leader listens: {"url", "fingerprint"}.
  fs::path endpoint() const { return folder / "endpoint.json"; }
};

/// The name of that token.
inline constexpr const char* kOwnerToken = "owner";

struct LeaderEndpoint {
  std::string url;
  std::string fingerprint;  ///< empty for plain HTTP
};
Result<void> write_endpoint(const LeaderPlace& place, const LeaderEndpoint& endpoint);
/// `not_found` if no leader runs here, `denied` if that is not for this user to know.
Result<LeaderEndpoint> read_endpoint(const LeaderPlace& place);

/// Talks to the leader that the user means: --leader (with --token-file), or the one of the data folder.
class LeaderClient {
 public:
  struct Options {
    std::string token_file;   ///< empty: $ASSAY_TOKEN_FILE, else the data folder's own token
    std::string fingerprint;  ///< of --leader's certificate
    std::string ca_file;
  };
  /// `unreachable` with what to do if there is no leader to be found; `usage` where the token would travel in the
  /// clear to another machine.
  static Result<LeaderClient> connect(const Context& context, const Options& options);

  /// The JSON of the answer; a status from 400 on is an error with the leader's words.
  Result<json::value> get(const std::string& target);
  /// `time`: how long it may take, where that is more than the usual five minutes.
  Result<json::value> send(const std::string& method, const std::string& target, const json::object& body = {},
                           std::optional<Nanos> time = std::nullopt);
  Result<std::string> get_text(const std::string& target);
  Result<EventSource> open_events(const std::string& target);
  void cancel() { client_->cancel(); }
  const std::string& url() const { return url_; }

 private:
  LeaderClient(std::unique_ptr<HttpClient> client, std::string url, std::string token)
      : client_(std::move(client)), url_(std::move(url)), token_(std::move(token)) {}
  Result<ClientResponse> exchange(ClientRequest request);

  std::unique_ptr<HttpClient> client_;
  std::string url_;
  std::string token_;
};

/// Asks the leader for a change and answers the user: `done` is what happened. Returns the exit code.
int change_at_leader(const Context& context, LeaderClient& client, const std::string& method, const std::string& target,
                     const json::object& body, const std::string& done);

/// What the leader says is wrong with itself (a full disk, outlets that fail): whoever looks at the cluster must know
/// that not everything may be there.
Result<void> print_problems(const Context& context, LeaderClient& client);

/// The options that every command has which talks to a leader.
void add_leader_options(CLI::App& command, LeaderClient::Options& options);

}  // namespace assay
