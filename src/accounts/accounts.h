#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "accounts/kept.h"
#include "accounts/people.h"
#include "accounts/personal_tokens.h"
#include "accounts/saved_panels.h"
#include "accounts/share_links.h"
#include "base/clock.h"
#include "base/result.h"
#include "model/price_book.h"

namespace assay {

struct AccountOptions {
  PeopleOptions people;
  bool anonymous = false;     ///< who says nothing about themselves may look at everything
  bool behind_proxy = false;  ///< a proxy on the same machine says where requests come from, and whether by TLS
  Nanos keep_audit = std::chrono::hours(24 * 730);
};

/// People, what they signed in with, what they may start, what is theirs and what they did. Any thread.
class Accounts {
 public:
  /// Tables and clock must outlive it. Errors are those of the tables.
  static Result<std::unique_ptr<Accounts>> load(AccountTables& tables, const Clock& clock, AccountOptions options);

  People& people() { return people_; }
  PersonalTokens& tokens() { return tokens_; }
  ShareLinks& links() { return links_; }
  SavedPanels& panels() { return panels_; }
  Kept<CatalogRecord>& catalog() { return catalog_; }
  Kept<QuotaRecord>& quotas() { return quotas_; }
  Kept<GpuPrice>& prices() { return prices_; }
  Kept<PowerPrice>& power_prices() { return power_prices_; }
  OwnerTable& owners() { return tables_.owners(); }
  AuditLog& audit() { return tables_.audit(); }
  const AccountOptions& options() const { return options_; }

  /// The user's own, or what holds for everybody.
  QuotaRecord quota_of(std::string_view user) const;
  PriceBook price_book() const;
  /// With their tokens, links and panels.
  Result<void> remove_user(std::string_view user);

  /// Forgets a slice of what is over. Every ten minutes is enough.
  Result<void> tidy();

 private:
  Accounts(AccountTables& tables, const Clock& clock, AccountOptions options);

  AccountTables& tables_;
  const Clock& clock_;
  const AccountOptions options_;
  People people_;
  PersonalTokens tokens_;
  ShareLinks links_;
  SavedPanels panels_;
  Kept<CatalogRecord> catalog_;
  Kept<QuotaRecord> quotas_;
  Kept<GpuPrice> prices_;
  Kept<PowerPrice> power_prices_;
};

}  // namespace assay
