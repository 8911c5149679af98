#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "telemetry/metric_source.h"
#include "telemetry/reading.h"

namespace assay {

struct SamplerOptions {
  Nanos period = std::chrono::seconds(1);
  /// What a source is given for one reading, and after which one that does not answer counts as failing.
  Nanos read_limit = std::chrono::seconds(6);
  /// Readings that wait for `next`, at least as many as there are sources. When it is full the oldest goes, so a
  /// consumer that sleeps costs no memory; its events are handed on to the source's next reading.
  std::size_t queue_limit = 256;
  /// What `stop` waits for readings under way. A source that hangs longer is left to itself.
  Nanos stop_limit = std::chrono::seconds(2);
};

/// The shortest and longest period; `set_period` keeps within them.
inline constexpr Nanos kShortestPeriod = std::chrono::milliseconds(10);
inline constexpr Nanos kLongestPeriod = std::chrono::minutes(10);

/// The grid is shared by all machines: the multiples of `period` since the Unix epoch. The first one that is at or
/// after `now` and after `last`, unless the clock was set back by more than a period: then it starts anew.
WallTime next_grid_time(WallTime now, Nanos period, std::optional<WallTime> last);

/// A reading, or news about its source, or both.
struct SampledReading {
  std::size_t source = 0;  ///< which, in the order given to the sampler
  WallTime time;           ///< on the grid
  Reading reading;         ///< events about the source itself have kind `source_failing` or `source_recovered`
};

struct SourceState {
  std::string name;
  bool ok = true;
  std::optional<WallTime> failing_since;
  std::string last_error;       ///< empty if it never failed
  std::uint64_t readings = 0;   ///< that succeeded
  std::uint64_t skipped = 0;    ///< grid times at which the reading before was still under way
  std::uint64_t discarded = 0;  ///< readings that nobody took from the queue in time
};

/// Reads several sources, each on a thread of its own, so that one that hangs or fails never delays another.
/// A source whose reading outlasts the period skips grid times; readings never pile up.
/// Events `source_failing` and `source_recovered` come through `next` like readings do; a source that hangs is
/// reported once `read_limit` has passed, as long as somebody waits in `next`.
class Sampler {
 public:
  explicit Sampler(std::vector<std::unique_ptr<MetricSource>> sources, const SamplerOptions& options = {});
  Sampler(const Sampler&) = delete;
  Sampler& operator=(const Sampler&) = delete;
  /// As `stop`.
  ~Sampler();

  /// The oldest reading that is waiting; nothing when `deadline` came first or the sampler was stopped. One thread.
  std::optional<SampledReading> next(SteadyTime deadline);

  /// From the next grid time on; a wait for a longer period is cut short. Any thread.
  void set_period(Nanos period);
  /// The next reading of every source is a `read_everything`. Any thread.
  void read_everything_next();
  /// How the sources are doing now, in their order. Any thread.
  std::vector<SourceState> states() const;

  /// Ends the threads and wakes `next`. Blocks up to `stop_limit`; a source that still hangs then stays alive on its
  /// thread until it returns, and whatever it refers to must outlive it. Any thread but those of the sources.
  void stop();

 private:
  struct Shared;
  struct Lane;
  static void run(const std::shared_ptr<Shared>& shared, Lane& lane);
  static Result<Reading> read_once(Shared& shared, Lane& lane);
  static void finish(Shared& shared, Lane& lane, WallTime grid, Result<Reading> result);

  std::shared_ptr<Shared> shared_;
};

}  // namespace assay
