#include "base/supervised_thread.h"

#include <pthread.h>

#include <condition_variable>
#include <exception>
#include <mutex>
#include <utility>

#include "base/log.h"

namespace assay {
namespace {

/// The words of the exception that is being handled.
std::string current_problem() {
  try {
    throw;
  } catch (const std::exception& problem) {
    return problem.what();
  } catch (...) {
    return "an exception without words";
  }
}

void supervise(const std::string& name, const SupervisedThread::Body& body,
               const SupervisedThread::OnFailure& on_failure, const std::stop_token& stop) {
  constexpr std::size_t kMostBytes = 15;
  ::pthread_setname_np(::pthread_self(), name.substr(0, kMostBytes).c_str());
  do {
    try {
      body(stop);
      return;
    } catch (...) {
      const std::string problem = current_problem();
      log_error("thread '{}' {} after an unexpected problem: {}", name,
                on_failure.restart_after ? "begins again" : "ends", problem);
      if (on_failure.report) on_failure.report(problem);
    }
  } while (on_failure.restart_after && sleep_for(stop, *on_failure.restart_after));
}

}  // namespace

bool sleep_for(const std::stop_token& stop, Nanos duration) {
  std::mutex mutex;
  std::unique_lock lock(mutex);
  std::condition_variable_any().wait_for(lock, stop, duration, [] { return false; });
  return !stop.stop_requested();
}

SupervisedThread::SupervisedThread(std::string name, Body body, OnFailure on_failure)
    : thread_([name = std::move(name), body = std::move(body), on_failure = std::move(on_failure)](
                  const std::stop_token& stop) { supervise(name, body, on_failure, stop); }) {}

void SupervisedThread::stop() {
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
}

}  // namespace assay
