#include "telemetry/sensor/sensor_source.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <optional>
#include <thread>

#include "base/spawn.h"
#include "telemetry/sensor/sensor.h"
#include "telemetry/sensor/sensor_protocol.h"

namespace assay {
namespace {

/// More sensors than this that cannot be killed, and no further one is started: each holds memory in the driver.
constexpr std::size_t kMaxAbandoned = 4;
constexpr int kReadingsToTrust = 10;

struct SocketPair {
  FileDescriptor ours;
  FileDescriptor theirs;
};

Result<SocketPair> make_socket_pair() {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return system_error(errno, "cannot make a pair of sockets");
  }
  return SocketPair{FileDescriptor(ends[0]), FileDescriptor(ends[1])};
}

std::string how_it_ended(int status) {
  if (WIFSIGNALED(status)) {
    const char* name = ::sigabbrev_np(WTERMSIG(status));
    return fmt::format("ended by signal {} (SIG{})", WTERMSIG(status), name != nullptr ? name : "?");
  }
  return fmt::format("ended with exit code {}", WEXITSTATUS(status));
}

/// True once the process has ended and was waited for.
bool reap(pid_t pid, Nanos limit, int* status = nullptr) {
  const SystemClock clock;
  const SteadyTime deadline = clock.now() + limit;
  for (;;) {
    int ignored = 0;
    const pid_t got = ::waitpid(pid, status != nullptr ? status : &ignored, WNOHANG);
    if (got == pid || (got < 0 && errno == ECHILD)) return true;
    if (clock.now() >= deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

class SensorSource final : public MetricSource {
 public:
  explicit SensorSource(SensorOptions options) : options_(std::move(options)), pause_(options_.first_pause) {}
  SensorSource(const SensorSource&) = delete;
  SensorSource& operator=(const SensorSource&) = delete;
  ~SensorSource() override;

  std::string_view name() const override { return options_.name; }
  Result<Reading> read(SteadyTime deadline) override { return ask(false, deadline); }
  Result<Reading> read_everything(SteadyTime deadline) override { return ask(true, deadline); }

 private:
  Result<Reading> ask(bool everything, SteadyTime deadline);
  Result<void> ensure_running();
  Result<void> start();
  Result<void> send_request(bool everything);
  Result<Reading> await_answer(SteadyTime deadline);
  Result<bool> receive();
  Error give_up(Error why);
  Error ended();
  void release_abandoned();

  SensorOptions options_;
  SystemClock clock_;
  pid_t pid_ = -1;
  FileDescriptor channel_;
  std::optional<SensorDecoder> decoder_;
  std::uint32_t last_number_ = 0;
  std::optional<SteadyTime> asked_;  ///< when the request was sent whose answer is still to come
  bool asked_everything_ = false;
  bool answered_once_ = false;
  int good_readings_ = 0;
  Nanos pause_;
  std::optional<SteadyTime> not_before_;
  std::string last_problem_;
  std::vector<pid_t> abandoned_;
};

SensorSource::~SensorSource() {
  channel_.reset();  // the sensor ends by itself
  if (pid_ > 0 && !reap(pid_, std::chrono::milliseconds(500))) {
    ::kill(pid_, SIGKILL);
    reap(pid_, std::chrono::seconds(1));
  }
  release_abandoned();
}

Result<Reading> SensorSource::ask(bool everything, SteadyTime deadline) {
  ASSAY_CHECK(ensure_running());
  const SteadyTime limit = std::min(deadline, clock_.now() + options_.answer_limit);
  std::optional<Reading> earlier;
  if (asked_ && everything && !asked_everything_) {
    // The answer that an earlier reading did not wait for has less than what is wanted now, but what has happened
    // since then is in it.
    ASSAY_TRY(earlier, await_answer(limit));
  }
  if (!asked_) ASSAY_CHECK(send_request(everything));
  auto reading = await_answer(limit);
  if (!reading || !earlier) return reading;
  reading->events.insert(reading->events.begin(), earlier->events.begin(), earlier->events.end());
  if (!reading->devices) reading->devices = std::move(earlier->devices);
  return reading;
}

Result<void> SensorSource::ensure_running() {
  if (pid_ > 0) return {};
  release_abandoned();
  if (abandoned_.size() >= kMaxAbandoned) {
    return Error{.kind = ErrorKind::timeout,
                 .message = fmt::format("{} sensors hang in the driver and cannot be ended", abandoned_.size()),
                 .hint = "The driver needs a restart; look for NVRM lines in the kernel's log."};
  }
  if (not_before_ && clock_.now() < *not_before_) {
    return Error{.kind = ErrorKind::unreachable,
                 .message = fmt::format("{}; starting it again in {:.0f} s", last_problem_,
                                        std::max(1.0, seconds_of(*not_before_ - clock_.now())))};
  }
  auto started = start();
  if (started) return started;
  return give_up(std::move(started).error());
}

Result<void> SensorSource::start() {
  ASSAY_TRY(auto sockets, make_socket_pair());
  ASSAY_TRY(const auto nothing, open_file("/dev/null", O_RDWR));
  ASSAY_TRY(auto environment, merged_environment(options_.environment));
  SpawnOptions spawning;
  spawning.arguments = options_.command;
  spawning.environment = std::move(environment);
  spawning.descriptors = {{nothing.get(), 0}, {nothing.get(), 1}, {2, 2}, {sockets.theirs.get(), kSensorChannel}};
  spawning.own_session = true;  // Ctrl-C is for us alone: it must not look like a crash
  ASSAY_CHECK(make_non_blocking(sockets.ours.get()));
  auto pid = spawn(spawning);
  if (!pid) return std::move(pid).within("starting the sensor").error();
  pid_ = *pid;
  channel_ = std::move(sockets.ours);
  decoder_.emplace();
  asked_.reset();
  answered_once_ = false;
  good_readings_ = 0;
  return {};
}

Result<void> SensorSource::send_request(bool everything) {
  const std::string bytes = encode_sensor_request({.everything = everything, .number = ++last_number_});
  // The last request was answered, so the socket's buffer is empty and takes five bytes.
  const ssize_t sent = ::send(channel_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  if (sent != static_cast<ssize_t>(bytes.size())) return ended();
  asked_ = clock_.now();
  asked_everything_ = everything;
  return {};
}

Result<Reading> SensorSource::await_answer(SteadyTime deadline) {
  for (;;) {
    auto answer = decoder_->next();
    if (!answer) return give_up(std::move(answer).error());
    if (*answer) {
      if ((*answer)->number != last_number_) {
        return give_up({.kind = ErrorKind::bad_file, .message = "the sensor answered what nobody had asked"});
      }
      asked_.reset();
      answered_once_ = true;
      if (++good_readings_ >= kReadingsToTrust) pause_ = options_.first_pause;
      return std::move((*answer)->result);
    }
    // A sensor that sends without end is as good as one that hangs.
    if (clock_.now() >= deadline || !wait_readable(channel_.get(), deadline)) break;
    ASSAY_TRY(const bool more, receive());
    if (!more) return ended();
  }
  const Nanos waited = clock_.now() - *asked_;
  const Nanos limit = answered_once_ ? options_.answer_limit : std::max(options_.start_limit, options_.answer_limit);
  Error error{.kind = ErrorKind::timeout,
              .message = fmt::format("the driver has not answered for {:.1f} s", seconds_of(waited))};
  if (waited < limit) return error;
  return give_up(std::move(error));
}

/// False at the end of the stream.
Result<bool> SensorSource::receive() {
  std::array<char, 65536> bytes;
  const ssize_t got = ::recv(channel_.get(), bytes.data(), bytes.size(), 0);
  if (got > 0) decoder_->append({bytes.data(), static_cast<std::size_t>(got)});
  if (got >= 0) return got > 0;
  if (errno == EAGAIN || errno == EINTR) return true;
  if (errno == ECONNRESET) return false;
  return system_error(errno, "cannot read from the sensor");
}

/// The channel is closed, so the process ends or has ended.
Error SensorSource::ended() {
  int status = 0;
  Error error{.kind = ErrorKind::crash, .message = "the sensor has closed its end"};
  if (reap(pid_, std::chrono::seconds(1), &status)) {
    pid_ = -1;
    error.message = "the sensor " + how_it_ended(status);
  }
  return give_up(std::move(error));
}

Error SensorSource::give_up(Error why) {
  channel_.reset();
  asked_.reset();
  if (pid_ > 0) {
    ::kill(pid_, SIGKILL);
    if (!reap(pid_, std::chrono::milliseconds(200))) abandoned_.push_back(pid_);
    pid_ = -1;
  }
  last_problem_ = why.text();
  not_before_ = clock_.now() + pause_;
  pause_ = std::min(pause_ * 2, options_.longest_pause);
  return why;
}

void SensorSource::release_abandoned() {
  std::erase_if(abandoned_, [](pid_t pid) { return reap(pid, Nanos(0)); });
}

}  // namespace

std::unique_ptr<MetricSource> make_sensor_source(SensorOptions options) {
  return std::make_unique<SensorSource>(std::move(options));
}

}  // namespace assay
