#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "access/scopes.h"
#include "accounts/kept.h"
#include "base/clock.h"

namespace assay {

/// Tokens that people make for their own programs. What one may is never more than what its owner may at that time: a
/// caller asks both. Any thread.
class PersonalTokens {
 public:
  PersonalTokens(AccountTables& tables, const Clock& clock)
      : clock_(clock), tokens_(tables.tokens(), &PersonalTokenRecord::id) {}
  Result<void> load() { return tokens_.load(); }

  struct Made {
    PersonalTokenRecord token;
    std::string secret;  ///< seen here and never again
  };
  /// Without a lifetime it is good until it is revoked. `usage`: a bad name or one that another of theirs has, no
  /// scopes, or some that people cannot have, too many tokens.
  Result<Made> create(std::string_view user, std::string name, const std::vector<std::string>& scopes,
                      std::optional<Nanos> lifetime);
  std::vector<PersonalTokenRecord> of(std::string_view user) const;
  std::vector<PersonalTokenRecord> all() const { return tokens_.all(); }
  std::optional<PersonalTokenRecord> find(std::string_view id) const { return tokens_.find(id); }
  /// One that does not exist is no error.
  Result<void> revoke(std::string_view id);
  Result<void> revoke_all_of(std::string_view user);
  /// Whose secret this is; nothing: of none that is good.
  std::optional<PersonalTokenRecord> check(std::string_view secret) const;
  /// Forgets what has expired.
  Result<void> tidy();

  static constexpr std::size_t kMostOfUser = 100;

 private:
  const Clock& clock_;
  Kept<PersonalTokenRecord> tokens_;
};

/// Names that are known; others are passed over.
Scopes scopes_in(const std::vector<std::string>& names);

}  // namespace assay
