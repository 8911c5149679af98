#include "serving/load_reporter.h"

namespace assay {

LoadReporter::LoadReporter(QueryRecorder& recorder, std::vector<LatencyLimit> limits, LoadWatch watch)
    : figures_(recorder, std::move(limits)), recorder_(recorder), watch_(std::move(watch)) {
  thread_ = std::jthread([this](const std::stop_token& ending) { speak(ending); });
}

void LoadReporter::finish() {
  thread_.request_stop();
  thread_.join();
}

void LoadReporter::speak(const std::stop_token& ending) {
  constexpr auto kTick = std::chrono::seconds(1);
  constexpr auto kNap = std::chrono::milliseconds(20);
  SteadyTime last{};
  while (!ending.stop_requested()) {
    std::this_thread::sleep_for(kNap);
    // A start that nobody agreed on is known by the first request.
    if (start_.load() == SteadyTime() && recorder_.issued() > 0) start_.store(recorder_.start());
    const SteadyTime start = start_.load();
    const SteadyTime now = SystemClock().now();
    if (start == SteadyTime()) continue;
    if (watch_.go_on && !watch_.go_on()) stop_load.request_stop();
    if (last == SteadyTime()) last = start;
    if (now - last < kTick) continue;
    if (!watch_.moment(figures_.since_last(), now - start, now - last)) stop_load.request_stop();
    last = now;
  }
}

}  // namespace assay
