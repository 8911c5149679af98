#pragma once

#include <csignal>
#include <thread>
#include <utility>

namespace assay::engine {

/// A thread that is never interrupted by signals from outside: their handlers belong to the main thread.
template <typename Call>
std::thread quiet_thread(Call call) {
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  for (const int crash : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP}) ::sigdelset(&all, crash);
  ::pthread_sigmask(SIG_BLOCK, &all, &before);
  std::thread thread(std::move(call));
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return thread;
}

}  // namespace assay::engine
