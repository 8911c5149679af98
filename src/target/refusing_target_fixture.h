#pragma once

#include <string>
#include <thread>
#include <vector>

#include "target/target.h"

namespace assay {

/// For tests: a server that is not there. Every request has failed before `issue` returns, which takes 10 ms.
class RefusingTarget final : public Target {
 public:
  std::string_view name() const override { return "refusing"; }
  std::vector<std::string> endpoints() const override { return {"refusing"}; }
  Result<void> start(CompletionSink& sink, const TargetWishes&) override {
    sink_ = &sink;
    return {};
  }
  void issue(std::span<const Request> requests) noexcept override {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    for (const Request& request : requests) {
      sink_->complete({.id = request.id,
                       .done = std::chrono::time_point_cast<Nanos>(std::chrono::steady_clock::now()),
                       .outcome = RequestOutcome::error,
                       .error = RequestError::connect});
    }
  }
  void stop(SteadyTime) noexcept override {}

 private:
  CompletionSink* sink_ = nullptr;
};

}  // namespace assay
