#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/random.h"

namespace assay {

// When requests are due. Every process is generated as it goes, in memory that does not grow with the number of
// requests, from counter-based random numbers: the same seed gives the same times on every machine.

/// The names are those of the setting `scenario`.
enum class Scenario { single_stream, multi_stream, server, offline, constant, burst, closed, ramp, trace };
std::string_view name_of(Scenario scenario);
std::optional<Scenario> scenario_from(std::string_view name);
/// Requests are due by the clock, whatever became of those before.
bool is_open_loop(Scenario scenario);

/// The times at which requests are due, since the start of the load. Not thread-safe.
class ArrivalProcess {
 public:
  virtual ~ArrivalProcess() = default;
  /// Never before the one before; kNever: there are no more. Takes well under a microsecond.
  virtual Nanos next() noexcept = 0;
  static constexpr Nanos kNever = Nanos::max();
};

/// A Poisson process: gaps are exponential, so that arrivals know nothing of each other.
class PoissonArrivals final : public ArrivalProcess {
 public:
  PoissonArrivals(double per_second, std::uint64_t seed);
  Nanos next() noexcept override;

 private:
  Random random_;
  double mean_gap_ns_;
  double at_ns_ = 0;
};

/// One request every 1/rate, the first at 0.
class ConstantArrivals final : public ArrivalProcess {
 public:
  explicit ConstantArrivals(double per_second) : gap_ns_(1e9 / per_second) {}
  Nanos next() noexcept override;

 private:
  double gap_ns_;
  std::uint64_t next_ = 0;
};

/// Gaps of a gamma distribution with the squared coefficient of variation `unevenness`: 1 is a Poisson process, 50
/// sends requests in clusters of about fifty with long pauses between them. The mean rate is the same.
class BurstArrivals final : public ArrivalProcess {
 public:
  BurstArrivals(double per_second, double unevenness, std::uint64_t seed);
  Nanos next() noexcept override;

 private:
  Random random_;
  double shape_;
  double scale_ns_;
  double at_ns_ = 0;
};

/// A Poisson process whose rate goes from one value to another and stays there: evenly, or in steps of equal length,
/// the first at `from` and the last at `to`.
struct Ramp {
  double from_per_second = 0;
  double to_per_second = 0;
  Nanos duration{0};
  std::uint32_t steps = 0;  ///< 0: evenly
};
/// The rate that a ramp asks for at a time since its start.
double rate_at(const Ramp& ramp, Nanos since_start);
/// The requests that it asks for up to that time, on average.
double expected_arrivals(const Ramp& ramp, Nanos since_start);

class RampArrivals final : public ArrivalProcess {
 public:
  RampArrivals(const Ramp& ramp, std::uint64_t seed);
  Nanos next() noexcept override;

 private:
  double time_of(double expected) const;  ///< seconds at which that many arrivals are expected

  Ramp ramp_;
  Random random_;
  double expected_ = 0;
};

/// Recorded times, replayed `speed_up` times as fast. The times, in order, outlive this.
class TraceArrivals final : public ArrivalProcess {
 public:
  TraceArrivals(std::span<const Nanos> times, double speed_up) : times_(times), speed_up_(speed_up) {}
  Nanos next() noexcept override;

 private:
  std::span<const Nanos> times_;
  double speed_up_;
  std::size_t next_ = 0;
};

}  // namespace assay
