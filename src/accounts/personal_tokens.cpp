#include "accounts/personal_tokens.h"

#include <fmt/format.h>

#include <algorithm>

#include "access/secrets.h"
#include "access/token_record.h"
#include "base/text.h"

namespace assay {
namespace {

/// Found by the beginning of the hash, compared by the whole.
constexpr std::size_t kIdDigits = 16;

Error bad_token(std::string message, std::string hint = "") {
  return {.kind = ErrorKind::usage, .message = std::move(message), .hint = std::move(hint)};
}

}  // namespace

Scopes scopes_in(const std::vector<std::string>& names) {
  Scopes scopes;
  for (const auto& name : names) {
    if (const auto scope = scope_from(name)) scopes.add(*scope);
  }
  return scopes;
}

Result<PersonalTokens::Made> PersonalTokens::create(std::string_view user, std::string name,
                                                    const std::vector<std::string>& scopes,
                                                    std::optional<Nanos> lifetime) {
  if (!is_token_name(name)) {
    return bad_token(fmt::format("'{}' cannot be the name of a token", printable(name)),
                     "1 to 64 letters, digits, '-', '_', '.' and '@'.");
  }
  const auto mine = of(user);
  if (std::any_of(mine.begin(), mine.end(), [&](const auto& token) { return token.name == name; })) {
    return bad_token(fmt::format("you have a token '{}' already", name),
                     "Revoke it first, or name this one otherwise.");
  }
  if (mine.size() >= kMostOfUser) return bad_token(fmt::format("{} tokens are as many as one may have", kMostOfUser));
  if (scopes.empty()) return bad_token("a token needs scopes", "read, run, alerts, manage, admin.");
  const Scopes most = scopes_of(Role::admin);
  for (const auto& scope : scopes) {
    const auto known = scope_from(scope);
    if (!known || !most.has(*known)) {
      return bad_token(fmt::format("'{}' is no scope of people", printable(scope)),
                       "read, run, alerts, manage, admin.");
    }
  }
  if (lifetime && (*lifetime <= Nanos(0) || *lifetime > std::chrono::hours(24 * 365 * 10))) {
    return bad_token("a token is good for more than nothing and at most ten years");
  }
  Made made{.token = {}, .secret = new_secret()};
  const std::string hash = sha256_hex(made.secret);
  const WallTime now = clock_.wall();
  made.token = {.id = hash.substr(0, kIdDigits),
                .user = std::string(user),
                .name = std::move(name),
                .hash = hash,
                .scopes = scopes,
                .created = now,
                .expires = lifetime ? std::optional(now + *lifetime) : std::nullopt};
  ASSAY_CHECK(tokens_.put(made.token));
  return made;
}

std::vector<PersonalTokenRecord> PersonalTokens::of(std::string_view user) const {
  return tokens_.those([&](const PersonalTokenRecord& token) { return token.user == user; });
}

Result<void> PersonalTokens::revoke(std::string_view id) {
  ASSAY_CHECK(tokens_.take(id));
  return {};
}

Result<void> PersonalTokens::revoke_all_of(std::string_view user) {
  return tokens_.remove_those([&](const PersonalTokenRecord& token) { return token.user == user; });
}

std::optional<PersonalTokenRecord> PersonalTokens::check(std::string_view secret) const {
  if (!is_secret(secret)) return std::nullopt;
  const std::string hash = sha256_hex(secret);
  auto token = tokens_.find(hash.substr(0, kIdDigits));
  if (!token || !equal_in_constant_time(token->hash, hash)) return std::nullopt;
  if (token->expires && *token->expires <= clock_.wall()) return std::nullopt;
  return token;
}

Result<void> PersonalTokens::tidy() {
  const WallTime now = clock_.wall();
  return tokens_.remove_those([&](const PersonalTokenRecord& token) { return token.expires && *token.expires <= now; });
}

}  // namespace assay
