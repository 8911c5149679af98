#include "agent/shipper.h"

#include <algorithm>
#include <utility>

#include "bytes/frame.h"
#include "store/journal/journal_reader.h"

namespace assay {

bool is_refusal(ErrorKind kind) {
  return kind == ErrorKind::usage || kind == ErrorKind::not_found || kind == ErrorKind::denied;
}

Error of_this_node(Error error) {
  if (is_refusal(error.kind)) error.kind = ErrorKind::io;
  return std::move(error).within("reading what this node has recorded");
}

Result<JournalPiece> next_piece(RunStore& local, const std::string& run, const std::string& journal,
                                std::uint64_t offset, std::size_t piece) {
  for (const std::size_t length : {piece, kFrameHeader + kMaxPayload}) {
    auto read = local.read_frames(run, journal, offset, length);
    if (!read) return of_this_node(std::move(read).error());
    JournalPiece found{.frames = std::move(*read)};
    const bool more = found.frames.size() == length;
    const std::size_t whole = whole_frames(found.frames, offset);
    if (whole == 0 && more) continue;
    found.damaged = whole == 0 && !found.frames.empty();
    found.frames.resize(whole);
    return found;
  }
  return JournalPiece();
}

void Shipper::rest(const std::stop_token& stop, Nanos pause, Nanos look) {
  std::unique_lock lock(mutex_);
  const auto woken = [this] { return look_now_; };
  if (stop.stop_requested()) {
    changed_.wait_for(lock, std::min(pause, look), woken);
  } else {
    changed_.wait_for(lock, stop, pause, woken);
  }
  look_now_ = false;
}

void Shipper::look_again() {
  const std::lock_guard lock(mutex_);
  look_now_ = true;
  changed_.notify_all();
}

void Shipper::leave() {
  const std::lock_guard lock(mutex_);
  left_ = look_now_ = true;
  changed_.notify_all();
}

bool Shipper::is_left() {
  const std::lock_guard lock(mutex_);
  return left_;
}

void Shipper::end_with(Run run) {
  const std::lock_guard lock(mutex_);
  never_began_ = std::move(run);
  look_now_ = true;
  changed_.notify_all();
}

std::optional<Run> Shipper::never_began() {
  const std::lock_guard lock(mutex_);
  return never_began_;
}

void Shipper::set_listed(bool listed) {
  const std::lock_guard lock(mutex_);
  if (listed_ && !listed) unlisted_now_ = look_now_ = true;
  listed_ = listed;
  changed_.notify_all();
}

bool Shipper::is_listed() {
  const std::lock_guard lock(mutex_);
  return listed_;
}

bool Shipper::is_unlisted_now() {
  const std::lock_guard lock(mutex_);
  return std::exchange(unlisted_now_, false);
}

}  // namespace assay
