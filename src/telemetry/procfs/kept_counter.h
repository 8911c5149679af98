#pragma once

#include <filesystem>
#include <optional>

#include "base/clock.h"
#include "telemetry/procfs/kept_file.h"

namespace assay {

/// A file below /sys with one number in it, which is read again and again.
class KeptNumber {
 public:
  explicit KeptNumber(std::filesystem::path path) : file_(std::move(path)) {}
  /// Nothing if it cannot be read or holds something else ("max").
  std::optional<double> read() {
    auto text = file_.read();
    if (!text) return std::nullopt;
    std::string_view line = take_line(*text);
    return number_in(take_word(line));
  }

 private:
  KeptFile file_;
};

/// Turns a counter into a rate per second.
class CounterRate {
 public:
  /// Nothing the first time, if no time has passed, or where the counter began again.
  std::optional<double> update(std::optional<double> counter, SteadyTime now) {
    const auto last = std::exchange(last_, counter);
    const SteadyTime last_time = std::exchange(last_time_, now);
    if (!last || !counter || now <= last_time || *counter < *last) return std::nullopt;
    return (*counter - *last) / seconds_of(now - last_time);
  }

 private:
  std::optional<double> last_;
  SteadyTime last_time_{};
};

}  // namespace assay
