#include "stop_signals.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>

namespace assay {
namespace {

constexpr std::array kSignals = {SIGINT, SIGTERM, SIGHUP};

// A signal handler can reach nothing but globals.
std::atomic<int> pipe_fd{-1};
std::atomic<bool> was_requested{false};
std::atomic<bool> hangup_reloads{false};

void on_signal(int signal) {
  const int saved = errno;
  const bool reload = signal == SIGHUP && hangup_reloads;
  if (!reload) was_requested = true;
  const char byte = reload ? 'r' : signal == SIGINT ? 'i' : 's';
  if (::write(pipe_fd, &byte, 1) < 0) {
    // The pipe is full of earlier requests: nothing is lost.
  }
  errno = saved;
}

}  // namespace

StopSignals::StopSignals(OnHangup hangup) {
  int fds[2];
  ASSAY_ASSERT(::pipe2(fds, O_CLOEXEC | O_NONBLOCK) == 0);
  read_ = FileDescriptor(fds[0]);
  write_ = FileDescriptor(fds[1]);
  was_requested = false;
  hangup_reloads = hangup == OnHangup::reload;
  pipe_fd = fds[1];
  struct sigaction action{};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  for (const int signal : kSignals) ::sigaction(signal, &action, nullptr);
}

StopSignals::~StopSignals() {
  for (const int signal : kSignals) ::signal(signal, SIG_DFL);
  pipe_fd = -1;
}

bool StopSignals::requested() const { return was_requested; }

}  // namespace assay
