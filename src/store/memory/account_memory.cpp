#include "store/memory/account_memory.h"

#include <algorithm>
#include <functional>
#include <map>
#include <mutex>
#include <tuple>

#include "model/price_book.h"

namespace assay {
namespace {

template <typename Row>
class KeptInMemory final : public KeptTable<Row> {
 public:
  explicit KeptInMemory(std::string Row::* key) : key_(key) {}

  Result<std::vector<Row>> list() override {
    const std::lock_guard lock(mutex_);
    std::vector<Row> rows;
    for (const auto& [key, row] : rows_) rows.push_back(row);
    return rows;
  }
  Result<void> put(const Row& row) override {
    const std::lock_guard lock(mutex_);
    rows_[row.*key_] = row;
    return {};
  }
  Result<void> remove(std::string_view key) override {
    const std::lock_guard lock(mutex_);
    if (const auto found = rows_.find(key); found != rows_.end()) rows_.erase(found);
    return {};
  }

 private:
  std::string Row::* key_;
  std::mutex mutex_;
  std::map<std::string, Row, std::less<>> rows_;
};

class OwnersInMemory final : public OwnerTable {
 public:
  Result<void> note(const Owned& owned, std::string_view owner, WallTime time) override {
    const std::lock_guard lock(mutex_);
    const bool known = std::any_of(rows_.begin(), rows_.end(), [&](const Row& row) { return row.owned == owned; });
    if (!known) rows_.push_back({owned, std::string(owner), time});
    return {};
  }
  Result<std::string> find(const Owned& owned) override {
    const std::lock_guard lock(mutex_);
    for (const auto& row : rows_) {
      if (row.owned == owned) return row.owner;
    }
    return std::string();
  }
  Result<std::vector<Owned>> owned_since(std::string_view owner, WallTime time) override {
    const std::lock_guard lock(mutex_);
    std::vector<Row> found;
    for (const auto& row : rows_) {
      if (row.owner == owner && row.time >= time) found.push_back(row);
    }
    std::stable_sort(found.begin(), found.end(), [](const Row& a, const Row& b) {
      return std::tie(a.time, a.owned.id) < std::tie(b.time, b.owned.id);
    });
    std::vector<Owned> all;
    all.reserve(found.size());
    for (auto& row : found) all.push_back(std::move(row.owned));
    return all;
  }
  Result<void> forget(const Owned& owned) override {
    const std::lock_guard lock(mutex_);
    std::erase_if(rows_, [&](const Row& row) { return row.owned == owned; });
    return {};
  }

 private:
  struct Row {
    Owned owned;
    std::string owner;
    WallTime time;
  };
  std::mutex mutex_;
  std::vector<Row> rows_;
};

class AuditInMemory final : public AuditLog {
 public:
  Result<void> append(const AuditRecord& record) override {
    const std::lock_guard lock(mutex_);
    rows_.push_back(record);
    rows_.back().id = ++last_id_;
    return {};
  }
  Result<std::vector<AuditRecord>> list(const AuditQuery& query) override {
    const std::lock_guard lock(mutex_);
    std::vector<AuditRecord> found;
    for (auto row = rows_.rbegin(); row != rows_.rend() && found.size() < query.limit; ++row) {
      const bool fits = (query.who.empty() || row->who == query.who) && (query.before <= 0 || row->id < query.before) &&
                        (!query.from || row->time >= *query.from);
      if (fits) found.push_back(*row);
    }
    return found;
  }
  Result<bool> forget(WallTime time, std::size_t most) override {
    const std::lock_guard lock(mutex_);
    std::size_t gone = 0;
    std::erase_if(rows_, [&](const AuditRecord& row) { return row.time < time && gone < most && ++gone > 0; });
    return gone == most;
  }

 private:
  std::mutex mutex_;
  std::vector<AuditRecord> rows_;
  std::int64_t last_id_ = 0;
};

class AccountMemory final : public AccountTables {
 public:
  KeptTable<UserRecord>& users() override { return users_; }
  KeptTable<SessionRecord>& sessions() override { return sessions_; }
  KeptTable<OnceRecord>& once() override { return once_; }
  KeptTable<PersonalTokenRecord>& tokens() override { return tokens_; }
  KeptTable<LinkRecord>& links() override { return links_; }
  KeptTable<PanelRecord>& panels() override { return panels_; }
  KeptTable<CatalogRecord>& catalog() override { return catalog_; }
  KeptTable<QuotaRecord>& quotas() override { return quotas_; }
  KeptTable<GpuPrice>& prices() override { return prices_; }
  KeptTable<PowerPrice>& power_prices() override { return power_prices_; }
  OwnerTable& owners() override { return owners_; }
  AuditLog& audit() override { return audit_; }

 private:
  KeptInMemory<UserRecord> users_{&UserRecord::name};
  KeptInMemory<SessionRecord> sessions_{&SessionRecord::id};
  KeptInMemory<OnceRecord> once_{&OnceRecord::id};
  KeptInMemory<PersonalTokenRecord> tokens_{&PersonalTokenRecord::id};
  KeptInMemory<LinkRecord> links_{&LinkRecord::id};
  KeptInMemory<PanelRecord> panels_{&PanelRecord::id};
  KeptInMemory<CatalogRecord> catalog_{&CatalogRecord::name};
  KeptInMemory<QuotaRecord> quotas_{&QuotaRecord::user};
  KeptInMemory<GpuPrice> prices_{&GpuPrice::gpu};
  KeptInMemory<PowerPrice> power_prices_{&PowerPrice::site};
  OwnersInMemory owners_;
  AuditInMemory audit_;
};

}  // namespace

std::unique_ptr<AccountTables> make_account_memory() { return std::make_unique<AccountMemory>(); }

}  // namespace assay
