#include "launch/kubernetes/pod_part.h"

#include <fmt/format.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/log.h"

namespace assay {
namespace {

/// Beyond it the log waits for the owner.
constexpr std::size_t kMostWaiting = std::size_t{4} << 20;
constexpr std::size_t kFillPiece = std::size_t{64} << 10;
constexpr std::uint64_t kLargestArtifact = std::uint64_t{64} << 20;

Error nobody_listens() { return {.kind = ErrorKind::interrupted, .message = "nobody follows this job any more"}; }

}  // namespace

PodFeed::PodFeed(PerStream<std::uint64_t> from, fs::path artifacts_to, std::shared_ptr<EndingOrder> order)
    : artifacts_to_(std::move(artifacts_to)),
      order_(std::move(order)),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      next_(from) {}

void PodFeed::begin_reading() {
  file_.clear();
  file_bytes_.clear();
}

Result<void> PodFeed::take(RelayFrame frame) {
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return nobody_listens();
  }
  switch (frame.kind) {
    case RelayKind::out:
    case RelayKind::error:
    case RelayKind::events:
    case RelayKind::readings: return take_bytes(static_cast<JobStream>(frame.kind), frame);
    case RelayKind::file: take_file(frame.payload); return {};
    case RelayKind::bytes: take_file_bytes(frame); return {};
    case RelayKind::host:
    case RelayKind::ending: break;
    default: return {};
  }
  // The end alone of a record is what a log that was cut off begins with: it is none.
  const auto value = parse_json(frame.payload);
  if (!value) return {};
  const std::lock_guard lock(mutex_);
  if (frame.kind == RelayKind::host && !host_) {
    auto host = host_record_from_json(*value);
    if (!host) return {};
    host_ = fresh_host_ = std::move(*host);
    wake();
  } else if (frame.kind == RelayKind::ending && !heard_) {
    auto ending = part_ending_from_json(*value);
    if (ending) heard_ = std::move(*ending);
  }
  return {};
}

Result<void> PodFeed::take_bytes(JobStream stream, const RelayFrame& frame) {
  std::unique_lock lock(mutex_);
  const std::uint64_t end = frame.offset + frame.payload.size();
  if (end < frame.offset || end <= next_[stream]) return {};
  if (frame.offset > next_[stream]) ASSAY_CHECK(put_gap(stream, frame.offset - next_[stream], lock));
  return put(stream, std::string_view(frame.payload).substr(next_[stream] - frame.offset), lock);
}

Result<void> PodFeed::put(JobStream stream, std::string_view bytes, std::unique_lock<std::mutex>& lock) {
  drained_.wait(lock, [&] { return closed_ || fresh_[stream].size() < kMostWaiting; });
  if (closed_) return nobody_listens();
  fresh_[stream].append(bytes);
  next_[stream] += bytes.size();
  wake();
  return {};
}

Result<void> PodFeed::put_gap(JobStream stream, std::uint64_t bytes, std::unique_lock<std::mutex>& lock) {
  log_warning("{} bytes of what the job wrote are lost: its node had thrown that part of the log away", bytes);
  std::string note =
      stream == JobStream::events
          ? fmt::format("\n{}\n",
                        json::serialize(json::object{
                            {"assay", 1},
                            {"type", "warning"},
                            {"message", fmt::format("{} bytes of events are lost: the node had thrown that part of "
                                                    "the container's log away",
                                                    bytes)}}))
          : fmt::format("\n[{} bytes are missing here: the node had thrown that part of the log away]\n", bytes);
  // Lines of readings can do without one that is missing, and the next introduction says what is needed.
  if (note.size() > bytes || stream == JobStream::readings) note.clear();
  ASSAY_CHECK(put(stream, note, lock));
  for (std::uint64_t left = bytes - note.size(); left > 0;) {
    const auto piece = std::min<std::uint64_t>(left, kFillPiece);
    ASSAY_CHECK(put(stream, std::string(piece, '\n'), lock));
    left -= piece;
  }
  return {};
}

void PodFeed::take_file(const std::string& record) {
  file_.clear();
  file_bytes_.clear();
  const auto value = parse_json(record);
  if (!value || artifacts_to_.empty()) return;
  JsonFields fields(*value, "file");
  const std::string name = fields.text("path");
  const std::int64_t size = fields.integer("size");
  const bool left_out = fields.boolean_or("left_out", false);
  if (!fields.finish() || !is_file_name(name) || size < 0) return;
  if (left_out) {
    log_warning("'{}' is not kept: the artifacts of a job in Kubernetes travel through its log, up to 64 MiB", name);
    return;
  }
  file_ = artifacts_to_ / name;
  file_size_ = std::min<std::uint64_t>(static_cast<std::uint64_t>(size), kLargestArtifact);
  if (file_size_ == 0) take_file_bytes({.kind = RelayKind::bytes, .offset = 0, .payload = {}});
}

void PodFeed::take_file_bytes(const RelayFrame& frame) {
  if (file_.empty()) return;
  // A hole in it: it will not come whole in this reading.
  if (frame.offset != file_bytes_.size() || frame.payload.size() > file_size_ - file_bytes_.size())
    return file_.clear();
  file_bytes_ += frame.payload;
  if (file_bytes_.size() < file_size_) return;
  const auto made = make_folders(artifacts_to_);
  const auto kept = made ? write_file_atomically(file_, file_bytes_) : made;
  if (!kept) log_warning("an artifact of the job is lost: {}", kept.error().text());
  begin_reading();
}

std::optional<PartEnding> PodFeed::heard_ending() const {
  const std::lock_guard lock(mutex_);
  return heard_;
}

void PodFeed::end(PartEnding ending) {
  const std::lock_guard lock(mutex_);
  if (ending_) return;
  ending_ = std::move(ending);
  turn_ = order_->ended++;
  wake();
}

bool PodFeed::ended() const {
  const std::lock_guard lock(mutex_);
  return ending_.has_value();
}

void PodFeed::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  drained_.notify_all();
}

PodFeed::Fresh PodFeed::take_fresh(const PerStream<bool>& wanted) {
  const std::lock_guard lock(mutex_);
  std::uint64_t count = 0;
  (void)!::read(wake_.get(), &count, sizeof count);
  Fresh fresh{.bytes = {}, .host = std::exchange(fresh_host_, {}), .ending = {}};
  bool all = true;
  for (const auto stream : kJobStreams) {
    if (wanted[stream]) fresh.bytes[stream] = std::exchange(fresh_[stream], {});
    all = all && fresh_[stream].empty();
  }
  drained_.notify_all();
  if (ending_ && !ending_taken_ && all) {
    if (order_->told == turn_) {
      ending_taken_ = true;
      ++order_->told;
      fresh.ending = ending_;
    } else {
      wake();
    }
  }
  return fresh;
}

void PodFeed::wake() const {
  const std::uint64_t one = 1;
  (void)!::write(wake_.get(), &one, sizeof one);
}

void PodPart::look() {
  // What was not read yet is enough for now: the log waits for us, not in our memory.
  PerStream<bool> wanted;
  for (const auto stream : kJobStreams) wanted[stream] = bytes_[stream].empty();
  auto fresh = feed_->take_fresh(wanted);
  for (const auto stream : kJobStreams) bytes_[stream] += fresh.bytes[stream];
  if (fresh.host) host_ = std::move(fresh.host);
  if (fresh.ending) ending_ = std::move(fresh.ending);
}

std::size_t PodPart::read(JobStream stream, std::span<char> into) {
  std::string& bytes = bytes_[stream];
  const std::size_t count = std::min(into.size(), bytes.size());
  std::memcpy(into.data(), bytes.data(), count);
  bytes.erase(0, count);
  return count;
}

}  // namespace assay
