#pragma once

#include <functional>
#include <optional>
#include <string>

#include "access/scopes.h"
#include "base/result.h"

namespace assay {

class TokenBook;

/// What a request shows of who asks. Another way to show it is another field.
struct Claims {
  std::string bearer;        ///< a secret
  std::string node;          ///< the name of the node that it wants to speak for
  std::string session = {};  ///< the secret in a browser's cookie
};

/// What a request wants to see or change, for whoever may see only some things.
struct Asked {
  std::string endpoint;  ///< "/api/v1/runs/{run}"
  std::string run = {};  ///< that its path names; empty: none
  std::string study = {};
  std::string of = {};      ///< what a report is to be on: "a,study:b"; empty: none
  std::string filter = {};  ///< of a list
};

/// Somebody who is known.
struct Principal {
  enum class Kind { user, node };
  Kind kind = Kind::user;
  std::string name;   ///< of the token or account; of the node
  Scopes scopes;      ///< what they may do
  std::string title;  ///< for logs and refusals: "token 'ci' of role viewer"
  /// Asks again, for answers that go on for long: a token may be revoked or expire meanwhile. Set by whoever let them
  /// in; any thread.
  std::function<bool()> still_allowed{};

  std::string role = {};     ///< as people say it: viewer, user, admin; empty: none
  std::string account = {};  ///< whose account it is; empty: they have none
  std::string session = {};  ///< the id of the one that they are signed in with; empty: none
  /// What a request that changes something has to show besides, since browsers send cookies on anybody's behalf; empty:
  /// they did not come with one.
  std::string csrf = {};
  /// For who may see only some of what their scopes allow: `denied` for all else. Unset: everything. Any thread.
  std::function<Result<void>(const Asked& asked)> may_see{};

  /// By what it is remembered whose something is: names of accounts, tokens and nodes may be the same.
  std::string owner() const;
};

/// One way to tell who somebody is.
class Authenticator {
 public:
  virtual ~Authenticator() = default;

  /// Nothing: the claims hold nothing that this one looks at. `denied`: they do, and it is not good; the message is
  /// for the log, not for whoever asks. Other errors: nobody can tell at the moment. Any thread; called for every
  /// request, and on threads that must not wait: a look into memory and at a file is all that it may take.
  virtual Result<std::optional<Principal>> authenticate(const Claims& claims) = 0;
};

/// Tokens of people and programs. The book must outlive it.
class TokenAuthenticator final : public Authenticator {
 public:
  explicit TokenAuthenticator(TokenBook& book) : book_(book) {}
  Result<std::optional<Principal>> authenticate(const Claims& claims) override;

 private:
  TokenBook& book_;
};

/// Keys of nodes: the node's name and its key together. The book must outlive it.
class NodeKeyAuthenticator final : public Authenticator {
 public:
  explicit NodeKeyAuthenticator(TokenBook& book) : book_(book) {}
  Result<std::optional<Principal>> authenticate(const Claims& claims) override;

 private:
  TokenBook& book_;
};

}  // namespace assay
