#include "accounts/accounts.h"

namespace assay {
namespace {

constexpr std::size_t kAuditSlice = 2000;

}  // namespace

Accounts::Accounts(AccountTables& tables, const Clock& clock, AccountOptions options)
    : tables_(tables),
      clock_(clock),
      options_(std::move(options)),
      people_(tables, clock, options_.people),
      tokens_(tables, clock),
      links_(tables, clock),
      panels_(tables, clock),
      catalog_(tables.catalog(), &CatalogRecord::name),
      quotas_(tables.quotas(), &QuotaRecord::user),
      prices_(tables.prices(), &GpuPrice::gpu),
      power_prices_(tables.power_prices(), &PowerPrice::site) {}

Result<std::unique_ptr<Accounts>> Accounts::load(AccountTables& tables, const Clock& clock, AccountOptions options) {
  std::unique_ptr<Accounts> made(new Accounts(tables, clock, std::move(options)));
  ASSAY_CHECK(made->people_.load());
  ASSAY_CHECK(made->tokens_.load());
  ASSAY_CHECK(made->links_.load());
  ASSAY_CHECK(made->panels_.load());
  ASSAY_CHECK(made->catalog_.load());
  ASSAY_CHECK(made->quotas_.load());
  ASSAY_CHECK(made->prices_.load());
  ASSAY_CHECK(made->power_prices_.load());
  return made;
}

PriceBook Accounts::price_book() const { return {.gpus = prices_.all(), .power = power_prices_.find("")}; }

QuotaRecord Accounts::quota_of(std::string_view user) const {
  if (const auto own = quotas_.find(user)) return *own;
  return quotas_.find("").value_or(QuotaRecord{});
}

Result<void> Accounts::remove_user(std::string_view user) {
  ASSAY_CHECK(people_.remove(user));
  ASSAY_CHECK(tokens_.revoke_all_of(user));
  ASSAY_CHECK(links_.revoke_all_of(user));
  ASSAY_CHECK(panels_.remove_all_of(user));
  ASSAY_CHECK(quotas_.take(user));
  return {};
}

Result<void> Accounts::tidy() {
  ASSAY_CHECK(people_.tidy());
  ASSAY_CHECK(tokens_.tidy());
  ASSAY_CHECK(links_.tidy());
  ASSAY_CHECK(audit().forget(clock_.wall() - options_.keep_audit, kAuditSlice));
  return {};
}

}  // namespace assay
