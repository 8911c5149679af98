#pragma once

#include <functional>
#include <optional>
#include <string>

#include "access/scopes.h"
#include "access/token_book.h"
#include "base/result.h"

namespace assay {

/// What a request shows of who asks. Another way to show it is another field.
struct Claims {
  std::string bearer;  ///< a secret
  std::string node;    ///< the name of the node that it wants to speak for
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
