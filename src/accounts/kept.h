#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "store/account_tables.h"

namespace assay {

/// The rows of a table, also in memory: whoever looks waits for no disk, whoever changes one returns when it is on the
/// disk. Any thread. The table must outlive it.
template <typename Row>
class Kept {
 public:
  Kept(KeptTable<Row>& table, std::string Row::* key) : table_(table), key_(key) {}

  Result<void> load() {
    ASSAY_TRY(auto rows, table_.list());
    const std::unique_lock lock(mutex_);
    rows_.clear();
    for (auto& row : rows) rows_.emplace(row.*key_, std::move(row));
    return {};
  }
  std::optional<Row> find(std::string_view key) const {
    const std::shared_lock lock(mutex_);
    const auto found = rows_.find(key);
    return found == rows_.end() ? std::nullopt : std::optional(found->second);
  }
  /// Those that `fits` says yes to, in order of their keys.
  std::vector<Row> those(const std::function<bool(const Row&)>& fits) const {
    const std::shared_lock lock(mutex_);
    std::vector<Row> rows;
    for (const auto& [key, row] : rows_) {
      if (fits(row)) rows.push_back(row);
    }
    return rows;
  }
  std::vector<Row> all() const {
    return those([](const Row&) { return true; });
  }
  std::size_t size() const {
    const std::shared_lock lock(mutex_);
    return rows_.size();
  }

  Result<void> put(const Row& row) {
    const std::lock_guard writing(writing_);
    ASSAY_CHECK(table_.put(row));
    const std::unique_lock lock(mutex_);
    rows_.insert_or_assign(row.*key_, row);
    return {};
  }
  /// `change(row)` of what is there now; nothing happens in between. `not_found` if there is none.
  Result<Row> change(std::string_view key, const std::function<Result<void>(Row&)>& change) {
    const std::lock_guard writing(writing_);
    auto row = find(key);
    if (!row) return Error{.kind = ErrorKind::not_found, .message = "there is no '" + std::string(key) + "'"};
    ASSAY_CHECK(change(*row));
    ASSAY_CHECK(table_.put(*row));
    const std::unique_lock lock(mutex_);
    rows_.insert_or_assign((*row).*key_, *row);
    return *row;
  }
  /// Gives it to one caller alone; nothing where it is gone already.
  Result<std::optional<Row>> take(std::string_view key) {
    const std::lock_guard writing(writing_);
    auto row = find(key);
    if (!row) return std::optional<Row>();
    ASSAY_CHECK(table_.remove(key));
    const std::unique_lock lock(mutex_);
    rows_.erase(rows_.find(key));
    return row;
  }
  Result<void> remove_those(const std::function<bool(const Row&)>& fits) {
    for (const Row& row : those(fits)) {
      ASSAY_CHECK(take(row.*key_));
    }
    return {};
  }
  /// In memory alone, for what is written down later.
  void touch(std::string_view key, const std::function<void(Row&)>& change) {
    const std::unique_lock lock(mutex_);
    if (const auto found = rows_.find(key); found != rows_.end()) change(found->second);
  }

 private:
  KeptTable<Row>& table_;
  std::string Row::* const key_;
  std::mutex writing_;
  mutable std::shared_mutex mutex_;
  std::map<std::string, Row, std::less<>> rows_;
};

}  // namespace assay
