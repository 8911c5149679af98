#include "launch/ssh/ssh_part.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/log.h"
#include "base/units.h"
#include "launch/hosted/job_programs.h"

namespace assay {
namespace {

// Beyond it we stop reading, and the relay at the other end waits.
constexpr std::size_t kMostWaiting = std::size_t{4} << 20;
constexpr Nanos kOwnerAlivePeriod = std::chrono::seconds(10);
constexpr Nanos kFirstPause = std::chrono::milliseconds(200);
constexpr Nanos kLongestReconnectPause = std::chrono::seconds(15);

}  // namespace

SshPart::SshPart(SshHost host, std::string id, PartOfJob part, const PerStream<std::uint64_t>& from, Nanos patience)
    : host_(std::move(host)),
      id_(std::move(id)),
      part_(part),
      patience_(patience),
      inbox_(from),
      heard_at_(clock_.now()),
      said_at_(heard_at_),
      open_at_(heard_at_),
      pause_(kFirstPause) {}

void SshPart::look() {
  if (ending_) return;
  const auto now = clock_.now();
  if (!channel_ && now >= open_at_) open_channel(now);
  if (!channel_) return;
  if (inbox_.waiting() < kMostWaiting) take_bytes(now);
  if (channel_ && now > said_at_ + kOwnerAlivePeriod) {
    to_send_ += relay_lines({.kind = RelayKind::alive});
    said_at_ = now;
  }
  send();
}

void SshPart::open_channel(SteadyTime now) {
  inbox_.begin_again();
  auto channel =
      SshChild::start(host_.command({kFollowJobArgument, id_, text_of(part_), offsets_text(inbox_.position())}));
  if (!channel) return close_channel(std::move(channel).error().within(host_.name()), now);
  channel_.emplace(std::move(*channel));
  to_send_ = last_wish_;
  said_at_ = now;
}

void SshPart::take_bytes(SteadyTime now) {
  std::array<char, 65536> buffer;
  while (inbox_.waiting() < kMostWaiting) {
    const ssize_t got = ::read(channel_->out(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return;
    if (got <= 0) return close_channel(ssh_error(host_.name(), channel_->said()), now);
    auto taken = inbox_.take({buffer.data(), static_cast<std::size_t>(got)});
    if (!taken) return close_channel(std::move(taken).error().within(host_.name()), now);
    heard_at_ = now;
    if (std::exchange(told_, false)) log_warning("{}: the job is followed again", host_.name());
    pause_ = kFirstPause;
    problem_.reset();
    if (!inbox_.ending()) continue;
    ending_ = inbox_.ending();
    channel_.reset();
    return;
  }
}

void SshPart::close_channel(Error why, SteadyTime now) {
  channel_.reset();
  open_at_ = now + pause_;
  pause_ = std::min(pause_ * 2, kLongestReconnectPause);
  log_debug("the connection to the job is lost: {}", why.text());
  // One that is there again at once is no news.
  const bool again = problem_.has_value() && inbox_.order();
  if (again && !std::exchange(told_, true)) {
    log_warning("the connection to a job that goes on is lost, and tried again for {}: {}", format_duration(patience_),
                why.text());
  }
  problem_ = std::move(why);
  // What was known of it and is gone will not come back.
  const bool gone = problem_->kind == ErrorKind::not_found && inbox_.order();
  if (!gone && now < heard_at_ + patience_) return;
  ending_ = PartEnding(Error{.kind = ErrorKind::lost_peer,
                             .message = fmt::format("{}: the job is lost: {}", host_.name(), problem_->text()),
                             .hint = problem_->hint});
}

int SshPart::wake_fd() const {
  if (!channel_ || inbox_.waiting() >= kMostWaiting) return -1;
  return channel_->out();
}

std::size_t SshPart::read(JobStream stream, std::span<char> into) {
  std::string& bytes = inbox_.bytes(stream);
  const std::size_t count = std::min(bytes.size(), into.size());
  std::memcpy(into.data(), bytes.data(), count);
  bytes.erase(0, count);
  return count;
}

void SshPart::wish(JobWish::Kind kind, Nanos grace) {
  last_wish_ = relay_lines({.kind = RelayKind::wish,
                            .payload = json::serialize(to_json(JobWish{.sequence = 1, .kind = kind, .grace = grace}))});
  to_send_ += last_wish_;
  send();
}

void SshPart::send() {
  if (!channel_ || to_send_.empty()) return;
  const ssize_t written = ::write(channel_->in(), to_send_.data(), to_send_.size());
  if (written > 0) to_send_.erase(0, static_cast<std::size_t>(written));
}

}  // namespace assay
