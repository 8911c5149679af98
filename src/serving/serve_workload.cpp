#include "serving/serve_workload.h"

#include <pthread.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <thread>

#include "base/files.h"

namespace assay {
namespace {

/// Turns the signals that ask a program to end into a stop request. Made before any other thread, so that all of them
/// leave these signals to it.
class StopOnSignal {
 public:
  StopOnSignal() {
    sigemptyset(&signals_);
    sigaddset(&signals_, SIGINT);
    sigaddset(&signals_, SIGTERM);
    ::pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
    thread_ = std::jthread([this](const std::stop_token& ending) {
      while (!ending.stop_requested()) {
        const timespec wait{.tv_sec = 0, .tv_nsec = 100'000'000};
        if (::sigtimedwait(&signals_, nullptr, &wait) > 0) source_.request_stop();
      }
    });
  }
  std::stop_token token() const { return source_.get_token(); }

 private:
  sigset_t signals_{};
  std::stop_source source_;
  std::jthread thread_;
};

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

Result<void> serve_file(const char* file, const TargetMaker& make_target, ServeEvents& events,
                        const std::stop_token& stopping) {
  ASSAY_TRY(const auto text, read_file(file));
  json::error_code code;
  const json::value parsed = json::parse(text, code);
  if (code || !parsed.is_object()) {
    return Error{.kind = ErrorKind::bad_file, .message = "the settings are no JSON object", .at = file};
  }
  ASSAY_TRY(const auto settings, read_serve_settings(parsed.get_object()));
  return serve(settings,
               {.make_target = make_target,
                .events = events,
                .artifacts = variable("ASSAY_ARTIFACTS"),
                .run = variable("ASSAY_RUN_ID")},
               stopping);
}

}  // namespace

int serve_workload_main(int argc, char** argv, const TargetMaker& make_target) {
  const StopOnSignal signals;
  ServeEvents events(variable("ASSAY_EVENTS"));
  const auto served = argc > 2
                          ? serve_file(argv[2], make_target, events, signals.token())
                          : Result<void>(Error{.kind = ErrorKind::usage, .message = "a file with settings is missing"});
  if (served) return 0;
  events.error(served.error());
  return 1;
}

}  // namespace assay
