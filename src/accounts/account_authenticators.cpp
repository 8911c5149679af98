#include "accounts/account_authenticators.h"

#include <fmt/format.h>

#include <utility>

namespace assay {
namespace {

Error not_good(std::string_view what) {
  return {.kind = ErrorKind::denied, .message = fmt::format("the {} is unknown, expired or revoked", what)};
}

/// Nobody at all where the role is none that people have.
Scopes scopes_of_user(const UserRecord& user) {
  const auto role = role_from(user.role);
  return role && *role != Role::agent ? scopes_of(*role) : Scopes{};
}

class SessionAuthenticator final : public Authenticator {
 public:
  explicit SessionAuthenticator(Accounts& accounts) : accounts_(accounts) {}

  Result<std::optional<Principal>> authenticate(const Claims& claims) override {
    // Whoever shows a token or a node's name means that.
    if (claims.session.empty() || !claims.bearer.empty() || !claims.node.empty()) return std::optional<Principal>();
    auto visitor = accounts_.people().visitor(claims.session);
    if (!visitor) return not_good("session");
    Principal known{.name = visitor->user.name,
                    .scopes = scopes_of_user(visitor->user),
                    .title = fmt::format("user '{}' of role {}", visitor->user.name, visitor->user.role)};
    known.role = visitor->user.role;
    known.account = visitor->user.name;
    known.session = visitor->session.id;
    known.csrf = visitor->session.csrf;
    return std::optional(std::move(known));
  }

 private:
  Accounts& accounts_;
};

class PersonalTokenAuthenticator final : public Authenticator {
 public:
  explicit PersonalTokenAuthenticator(Accounts& accounts) : accounts_(accounts) {}

  Result<std::optional<Principal>> authenticate(const Claims& claims) override {
    if (claims.bearer.empty() || !claims.node.empty()) return std::optional<Principal>();
    const auto token = accounts_.tokens().check(claims.bearer);
    const auto user = token ? accounts_.people().find(token->user) : std::nullopt;
    if (!user || user->disabled) return not_good("token");
    const Scopes wanted = scopes_in(token->scopes);
    const Scopes most = scopes_of_user(*user);
    Scopes scopes;
    for (const Scope scope : {Scope::read, Scope::run, Scope::alerts, Scope::manage, Scope::admin}) {
      if (wanted.has(scope) && most.has(scope)) scopes.add(scope);
    }
    Principal known{
        .name = user->name, .scopes = scopes, .title = fmt::format("token '{}' of user '{}'", token->name, user->name)};
    known.role = user->role;
    known.account = user->name;
    return std::optional(std::move(known));
  }

 private:
  Accounts& accounts_;
};

class LinkAuthenticator final : public Authenticator {
 public:
  LinkAuthenticator(Accounts& accounts, StudyOfRun study_of) : accounts_(accounts), study_of_(std::move(study_of)) {}

  Result<std::optional<Principal>> authenticate(const Claims& claims) override {
    if (claims.bearer.empty() || !claims.node.empty()) return std::optional<Principal>();
    const auto link = accounts_.links().check(claims.bearer);
    if (!link) return not_good("link");
    // Whose author is gone or must stay out shows nothing more.
    const auto author = accounts_.people().find(link->user);
    if (!author || author->disabled) return not_good("link");
    Principal known{.name = "link " + link->id,
                    .scopes = {Scope::read},
                    .title = fmt::format("link {} of '{}'", link->id, link->user)};
    known.may_see = [link = *link, study_of = study_of_](const Asked& asked) {
      return check_link(link, asked, study_of);
    };
    return std::optional(std::move(known));
  }

 private:
  Accounts& accounts_;
  StudyOfRun study_of_;
};

/// Who says nothing about themselves.
class AnonymousAuthenticator final : public Authenticator {
 public:
  Result<std::optional<Principal>> authenticate(const Claims& claims) override {
    if (!claims.bearer.empty() || !claims.node.empty() || !claims.session.empty()) return std::optional<Principal>();
    Principal known{.name = "anonymous", .scopes = {Scope::read}, .title = "somebody without an account"};
    known.role = std::string(name_of(Role::viewer));
    return std::optional(std::move(known));
  }
};

}  // namespace

std::vector<std::unique_ptr<Authenticator>> account_authenticators(Accounts& accounts, StudyOfRun study_of) {
  std::vector<std::unique_ptr<Authenticator>> all;
  all.push_back(std::make_unique<SessionAuthenticator>(accounts));
  all.push_back(std::make_unique<PersonalTokenAuthenticator>(accounts));
  all.push_back(std::make_unique<LinkAuthenticator>(accounts, std::move(study_of)));
  if (accounts.options().anonymous) all.push_back(std::make_unique<AnonymousAuthenticator>());
  return all;
}

}  // namespace assay
