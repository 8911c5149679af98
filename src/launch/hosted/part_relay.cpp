#include "launch/hosted/part_relay.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/log.h"
#include "base/spawn.h"

namespace assay {
namespace {

constexpr std::size_t kRelayAhead = std::size_t{256} << 10;
constexpr Nanos kRelayPause = std::chrono::milliseconds(50);
constexpr Nanos kAlivePeriod = std::chrono::seconds(5);
// Owners say every few seconds that they are there. One whose machine went down would else stay the owner for hours.
constexpr Nanos kOwnerPatience = std::chrono::seconds(60);

RelayKind kind_of(JobStream stream) { return static_cast<RelayKind>(stream); }

/// One owner at the other end of a pipe.
class OwnerLink {
 public:
  OwnerLink(const JobFolder& folder, std::int64_t part, const PerStream<std::uint64_t>& from, int in_fd, int out_fd)
      : folder_(folder),
        part_(part),
        relay_(folder, part, from),
        in_(in_fd),
        out_(out_fd),
        reader_([this](const RelayFrame& frame) { return obey(frame); }) {}

  Result<void> serve() {
    ASSAY_CHECK(make_non_blocking(in_));
    ASSAY_CHECK(make_non_blocking(out_));
    heard_at_ = said_at_ = clock_.now();
    while (true) {
      if (more_ && lines_.size() < kRelayAhead) {
        ASSAY_TRY(more_, relay_.step(lines_, kRelayAhead));
      }
      const auto now = clock_.now();
      if (lines_.empty() && now > said_at_ + kAlivePeriod) lines_ += relay_lines({.kind = RelayKind::alive});
      if (lines_.empty() && !more_) return {};
      if (now > heard_at_ + kOwnerPatience) return {};
      ASSAY_TRY(const bool there, exchange());
      if (!there) return {};
    }
  }

 private:
  /// False once the owner is gone.
  Result<bool> exchange() {
    std::array<pollfd, 2> watched{{{.fd = in_, .events = POLLIN, .revents = 0},
                                   {.fd = lines_.empty() ? -1 : out_, .events = POLLOUT, .revents = 0}}};
    const auto pause = std::chrono::ceil<std::chrono::milliseconds>(kRelayPause).count();
    if (::poll(watched.data(), watched.size(), static_cast<int>(pause)) <= 0) return true;
    if (watched[1].revents != 0) {
      const ssize_t written = ::write(out_, lines_.data(), lines_.size());
      if (written < 0 && errno != EAGAIN && errno != EINTR) return false;
      if (written > 0) {
        lines_.erase(0, static_cast<std::size_t>(written));
        said_at_ = clock_.now();
      }
    }
    if (watched[0].revents == 0) return true;
    std::array<char, 4096> buffer;
    const ssize_t got = ::read(in_, buffer.data(), buffer.size());
    if (got < 0) return errno == EAGAIN || errno == EINTR;
    if (got == 0) return false;
    heard_at_ = clock_.now();
    ASSAY_CHECK(reader_.take({buffer.data(), static_cast<std::size_t>(got)}));
    return true;
  }

  Result<void> obey(const RelayFrame& frame) {
    if (frame.kind != RelayKind::wish) return {};
    ASSAY_TRY(const auto value, parse_json(frame.payload));
    ASSAY_TRY(const auto wish, wish_from_json(value));
    return folder_.make_wish(part_, wish.kind, wish.grace);
  }

  SystemClock clock_;
  const JobFolder& folder_;
  std::int64_t part_;
  PartRelay relay_;
  int in_, out_;
  RelayReader reader_;
  std::string lines_;  ///< to be sent
  bool more_ = true;
  SteadyTime heard_at_, said_at_;
};

}  // namespace

PartRelay::PartRelay(const JobFolder& folder, std::int64_t part, const PerStream<std::uint64_t>& from)
    : folder_(folder), part_(folder, {.number = part, .from = from, .artifacts_to = {}}) {}

Result<bool> PartRelay::step(std::string& lines, std::size_t about) {
  const std::size_t enough = lines.size() + about;
  if (!order_sent_) {
    ASSAY_TRY(auto order, read_file(folder_.order()));
    lines += relay_lines({.kind = RelayKind::order, .payload = std::move(order)});
    order_sent_ = true;
  }
  part_.look();
  if (!host_sent_ && part_.host()) {
    lines += relay_lines({.kind = RelayKind::host, .payload = json::serialize(to_json(*part_.host()))});
    host_sent_ = true;
  }
  bool at_end = true;
  std::string piece;
  for (const auto stream : kJobStreams) {
    while (part_.has_bytes(stream) && lines.size() < enough) {
      piece.resize(kMostRelayBytes);
      const auto offset = part_.position(stream);
      piece.resize(part_.read(stream, piece));
      lines += relay_lines({.kind = kind_of(stream), .offset = offset, .payload = piece});
      if (!part_.has_bytes(stream)) part_.look();
    }
    at_end = at_end && part_.at_end(stream);
  }
  if (!at_end || ended_) return !ended_;
  if (!files_) files_.emplace(folder_.artifacts());
  ASSAY_TRY(const bool more, files_->step(lines, about));
  if (more) return true;
  lines += relay_lines({.kind = RelayKind::ending, .payload = json::serialize(to_json(*part_.ending()))});
  ended_ = true;
  return false;
}

RelayInbox::RelayInbox(const PerStream<std::uint64_t>& from, std::optional<fs::path> artifacts_to)
    : position_(from),
      artifacts_to_(std::move(artifacts_to)),
      reader_([this](const RelayFrame& frame) { return take_frame(frame); }) {}

Result<void> RelayInbox::take(std::string_view text) { return reader_.take(text); }

void RelayInbox::begin_again() {
  reader_ = RelayReader([this](const RelayFrame& frame) { return take_frame(frame); });
}

std::size_t RelayInbox::waiting() const {
  std::size_t sum = 0;
  for (const auto stream : kJobStreams) sum += bytes_[stream].size();
  return sum;
}

Result<void> RelayInbox::take_frame(const RelayFrame& frame) {
  if (frame.kind <= RelayKind::readings) return take_bytes(static_cast<JobStream>(frame.kind), frame);
  if (frame.kind == RelayKind::file) return files().begin(frame.payload);
  if (frame.kind == RelayKind::bytes) return files().add(frame);
  return frame.payload.empty() ? Result<void>() : take_record(frame);
}

Result<void> RelayInbox::take_bytes(JobStream stream, const RelayFrame& frame) {
  auto& position = position_[stream];
  if (frame.offset > position) {
    return Error{
        .kind = ErrorKind::bad_file,
        .message = fmt::format("{} bytes of what the job wrote were lost on the way", frame.offset - position)};
  }
  const std::uint64_t known = position - frame.offset;
  if (known >= frame.payload.size()) return {};
  bytes_[stream] += std::string_view(frame.payload).substr(known);
  position = frame.offset + frame.payload.size();
  return {};
}

Result<void> RelayInbox::take_record(const RelayFrame& frame) {
  if (frame.kind == RelayKind::order) {
    ASSAY_TRY(order_, read_order(frame.payload));
    return {};
  }
  ASSAY_TRY(const auto value, parse_json(frame.payload));
  if (frame.kind == RelayKind::host) {
    ASSAY_TRY(host_, host_record_from_json(value));
  } else if (frame.kind == RelayKind::ending) {
    ASSAY_TRY(ending_, part_ending_from_json(value));
  } else if (frame.kind == RelayKind::problem) {
    ASSAY_TRY(const auto problem, part_ending_from_json(value));
    if (!problem) return problem.error();
  }
  return {};
}

FileReceiver& RelayInbox::files() {
  if (!files_) {
    if (!artifacts_to_ && order_ && order_->scratch) artifacts_to_ = *order_->scratch / "artifacts";
    files_.emplace(artifacts_to_.value_or(fs::path()));
  }
  return *files_;
}

Result<void> relay_to_owner(const JobFolder& folder, std::int64_t part, const PerStream<std::uint64_t>& from, int in_fd,
                            int out_fd) {
  const auto relay = [&]() -> Result<void> {
    std::error_code code;
    if (!fs::exists(folder.order(), code)) {
      return Error{.kind = ErrorKind::not_found,
                   .message = fmt::format("there is no job in '{}'", folder.path().string())};
    }
    auto lock = FileLock::claim(folder.owner());
    if (!lock && lock.error().kind == ErrorKind::busy) {
      return Error{.kind = ErrorKind::busy,
                   .message = fmt::format("the job has its owner already: {}", owner_of(folder.owner()))};
    }
    if (!lock) return std::move(lock).error();
    return OwnerLink(folder, part, from, in_fd, out_fd).serve();
  };
  auto relayed = relay();
  if (!relayed) (void)write_all(out_fd, problem_lines(relayed.error())).ok();
  return relayed;
}

std::string problem_lines(const Error& error) {
  return relay_lines({.kind = RelayKind::problem, .payload = json::serialize(to_json(PartEnding(error)))});
}

}  // namespace assay
