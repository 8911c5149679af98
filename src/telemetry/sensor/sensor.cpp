#include "telemetry/sensor/sensor.h"

#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>
#include <thread>

#include "base/files.h"
#include "base/log.h"
#include "base/spawn.h"
#include "telemetry/sensor/sensor_protocol.h"

namespace assay {
namespace {

/// What a reading that began before the other side went away may still take.
constexpr int kLastReadingMs = 2000;

/// Ends the process when `fd` was hung up and the main thread does not come back from a reading. Destroying it, which
/// the main thread can only do when it is not stuck, ends the watch.
class HangUpWatch {
 public:
  explicit HangUpWatch(int fd, Pipe pipe) : pipe_(std::move(pipe)), thread_([this, fd] { watch(fd); }) {}
  HangUpWatch(const HangUpWatch&) = delete;
  HangUpWatch& operator=(const HangUpWatch&) = delete;
  ~HangUpWatch() {
    pipe_.write_end.reset();
    thread_.join();
  }

 private:
  void watch(int fd) const {
    // Without any event asked for, poll reports a hang-up alone.
    std::array<pollfd, 2> watched{pollfd{fd, 0, 0}, pollfd{pipe_.read_end.get(), 0, 0}};
    while (::poll(watched.data(), watched.size(), -1) < 0 && errno == EINTR) {
    }
    if (watched[1].revents != 0) return;
    pollfd done = watched[1];
    if (::poll(&done, 1, kLastReadingMs) == 0) ::_exit(0);
  }

  Pipe pipe_;
  std::thread thread_;
};

/// Nothing at the end of the requests.
std::optional<SensorRequest> read_request(int fd) {
  std::string bytes(kSensorRequestBytes, '\0');
  std::size_t used = 0;
  while (used < bytes.size()) {
    const ssize_t got = ::read(fd, bytes.data() + used, bytes.size() - used);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return std::nullopt;
    used += static_cast<std::size_t>(got);
  }
  return decode_sensor_request(bytes);
}

}  // namespace

int run_sensor(int in_fd, int out_fd, MetricSource& source) {
  auto pipe = make_pipe();
  if (!pipe) {
    log_error("sensor: {}", pipe.error().text());
    return 1;
  }
  const HangUpWatch watch(in_fd, std::move(*pipe));
  SensorEncoder encoder;
  std::string frames;
  while (const auto request = read_request(in_fd)) {
    // Whoever asked has a limit of his own and gives up on us.
    const auto result =
        request->everything ? source.read_everything(SteadyTime::max()) : source.read(SteadyTime::max());
    frames.clear();
    if (const auto encoded = encoder.encode(request->number, result, frames); !encoded) {
      log_error("sensor: {}", encoded.error().text());
      return 1;
    }
    if (!write_all(out_fd, frames)) return 0;  // nobody listens any more
  }
  return 0;
}

}  // namespace assay
