#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>

#include "base/files.h"
#include "launch/hosted/job_part.h"
#include "launch/hosted/relay_line.h"

namespace assay {

/// The order in which the parts of one job ended, so that its owner hears of them in that order: the cluster ends the
/// others when one has failed, and the one that failed first is the job's ending.
struct EndingOrder {
  std::atomic<int> ended{0};
  std::atomic<int> told{0};
};

/// What one pod's log says, on its way from the thread that follows the log to the owner of the job. A log may be read
/// from the front any number of times: what was there before is passed over, and what the node has thrown away in the
/// meantime is replaced by as many bytes that say so, so that every later byte stands where it stood. Any thread.
class PodFeed {
 public:
  /// `from`: bytes of each stream that the owner has already. `artifacts_to`: empty for nowhere.
  PodFeed(PerStream<std::uint64_t> from, fs::path artifacts_to, std::shared_ptr<EndingOrder> order);

  // The side of the log.

  /// The log is read from its front again.
  void begin_reading();
  /// Blocks while the owner is far behind. `interrupted`: nobody wants more.
  Result<void> take(RelayFrame frame);
  /// How the part ended, as its host says; nothing as long as that was not in the log.
  std::optional<PartEnding> heard_ending() const;
  /// The owner's answer. Only the first counts.
  void end(PartEnding ending);
  bool ended() const;
  /// Lets go of whoever blocks in `take`.
  void close();

  // The owner's side.

  struct Fresh {
    PerStream<std::string> bytes;
    std::optional<HostRecord> host;
    std::optional<PartEnding> ending;
  };
  /// What has come since the last time, of the streams that are wanted; an ending when that is all and it is its turn.
  Fresh take_fresh(const PerStream<bool>& wanted);
  int wake_fd() const { return wake_.get(); }

 private:
  Result<void> take_bytes(JobStream stream, const RelayFrame& frame);
  Result<void> put(JobStream stream, std::string_view bytes, std::unique_lock<std::mutex>& lock);
  Result<void> put_gap(JobStream stream, std::uint64_t bytes, std::unique_lock<std::mutex>& lock);
  void take_file(const std::string& record);
  void take_file_bytes(const RelayFrame& frame);
  void wake() const;

  const fs::path artifacts_to_;
  const std::shared_ptr<EndingOrder> order_;
  const FileDescriptor wake_;

  mutable std::mutex mutex_;
  std::condition_variable drained_;
  PerStream<std::uint64_t> next_;  ///< where the next byte for the owner stands
  PerStream<std::string> fresh_;
  std::optional<HostRecord> host_, fresh_host_;
  std::optional<PartEnding> heard_, ending_;
  int turn_ = 0;  ///< of the ending
  bool ending_taken_ = false;
  bool closed_ = false;
  // Of the file that is being sent; touched by the thread of the log alone.
  fs::path file_;
  std::uint64_t file_size_ = 0;
  std::string file_bytes_;
};

/// A part of a job that is a pod, as its owner sees it.
class PodPart final : public JobPart {
 public:
  using Wish = std::function<void(JobWish::Kind kind, Nanos grace)>;
  PodPart(std::shared_ptr<PodFeed> feed, Wish wish) : feed_(std::move(feed)), wish_(std::move(wish)) {}

  void look() override;
  int wake_fd() const override { return feed_->wake_fd(); }
  bool has_bytes(JobStream stream) const override { return !bytes_[stream].empty(); }
  bool at_end(JobStream stream) const override { return ending_ && bytes_[stream].empty(); }
  std::size_t read(JobStream stream, std::span<char> into) override;
  const std::optional<HostRecord>& host() const override { return host_; }
  const std::optional<PartEnding>& ending() const override { return ending_; }
  void wish(JobWish::Kind kind, Nanos grace) override { wish_(kind, grace); }

 private:
  const std::shared_ptr<PodFeed> feed_;
  const Wish wish_;
  PerStream<std::string> bytes_;
  std::optional<HostRecord> host_;
  std::optional<PartEnding> ending_;
};

}  // namespace assay
