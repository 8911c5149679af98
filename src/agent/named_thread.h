#pragma once

#include <pthread.h>

#include <exception>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>

#include "base/log.h"

namespace assay {

/// Starts a thread that debuggers and `top -H` show under a name (15 letters at most). What is thrown in it is logged
/// and ends that thread alone.
template <typename F>
std::jthread start_thread(std::string name, F work) {
  return std::jthread([name = std::move(name), work = std::move(work)](std::stop_token stop) mutable {
    ::pthread_setname_np(::pthread_self(), name.substr(0, 15).c_str());
    try {
      work(std::move(stop));
    } catch (const std::exception& problem) {
      log_error("thread '{}': {}", name, problem.what());
    }
  });
}

}  // namespace assay
