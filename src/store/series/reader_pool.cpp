#include "store/series/reader_pool.h"

namespace assay {

Result<ReaderPool::Lease> ReaderPool::lease() {
  {
    const std::lock_guard hold(mutex_);
    if (!idle_.empty()) {
      auto file = std::move(idle_.back());
      idle_.pop_back();
      return Lease(*this, std::move(file));
    }
  }
  ASSAY_TRY(auto file, SeriesFile::open(path_, write_ahead_log_));
  return Lease(*this, std::move(file));
}

Result<void> ReaderPool::Lease::pin() {
  ASSAY_CHECK(file_->database().execute("BEGIN"));
  pinned_ = true;
  // BEGIN alone looks at nothing.
  ASSAY_CHECK(file_->database().number("SELECT count(*) FROM setting"));
  return {};
}

ReaderPool::Lease::~Lease() {
  if (!file_) return;
  if (pinned_ && !file_->database().execute("ROLLBACK").ok()) return;
  const std::lock_guard hold(pool_->mutex_);
  if (pool_->idle_.size() < kMostIdle) pool_->idle_.push_back(std::move(file_));
}

}  // namespace assay
