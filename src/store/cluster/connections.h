#pragma once

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "base/files.h"
#include "base/result.h"
#include "store/sqlite/sqlite.h"

namespace assay {

/// The connections to one database file: one that writes, and one for each reader at work. Where the file system allows
/// a write-ahead log, a reader sees the state of its moment and waits for nobody. Any thread.
class ClusterConnections {
 public:
  static Result<std::unique_ptr<ClusterConnections>> open(const fs::path& file);

  /// `change(database)` in one transaction: kept if it succeeds, undone if not. One at a time; on the disk on return.
  template <typename Change>
  auto write(Change change) -> decltype(change(std::declval<Database&>())) {
    const std::lock_guard lock(writing_);
    ASSAY_TRY(auto transaction, Transaction::begin(writer_));
    auto outcome = change(writer_);
    if (outcome.ok()) ASSAY_CHECK(transaction.commit());
    return outcome;
  }

  /// `look(database)` on a connection that nobody else uses meanwhile.
  template <typename Look>
  auto read(Look look) -> decltype(look(std::declval<Database&>())) {
    ASSAY_TRY(auto database, take_reader());
    auto outcome = look(*database);
    give_back(std::move(database));
    return outcome;
  }

 private:
  /// More readers at once are served, but not all of their connections are kept.
  static constexpr std::size_t kMostIdle = 8;

  ClusterConnections(fs::path file, Database writer) : file_(std::move(file)), writer_(std::move(writer)) {}
  Result<std::unique_ptr<Database>> take_reader();
  void give_back(std::unique_ptr<Database> database);

  const fs::path file_;
  std::mutex writing_;
  Database writer_;
  std::mutex idle_mutex_;
  std::vector<std::unique_ptr<Database>> idle_;
};

}  // namespace assay
