#pragma once

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "base/files.h"
#include "base/result.h"
#include "store/series/series_file.h"

namespace assay {

/// Connections for readers, one per reader at work; idle ones are kept for the next. Any thread.
class ReaderPool {
 public:
  ReaderPool(fs::path path, bool write_ahead_log) : path_(std::move(path)), write_ahead_log_(write_ahead_log) {}

  /// A connection, back in the pool when it goes away; a transaction that was begun on it ends then.
  class Lease {
   public:
    Lease(ReaderPool& pool, std::unique_ptr<SeriesFile> file) : pool_(&pool), file_(std::move(file)) {}
    Lease(Lease&&) noexcept = default;
    Lease& operator=(Lease&&) = delete;
    ~Lease();
    SeriesFile& operator*() const { return *file_; }
    SeriesFile* operator->() const { return file_.get(); }
    /// From here on it sees the database as it is now.
    Result<void> pin();

   private:
    ReaderPool* pool_;
    std::unique_ptr<SeriesFile> file_;
    bool pinned_ = false;
  };

  Result<Lease> lease();

 private:
  /// More readers at once are served, but not all of their connections are kept.
  static constexpr std::size_t kMostIdle = 8;

  const fs::path path_;
  const bool write_ahead_log_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<SeriesFile>> idle_;
};

}  // namespace assay
