#pragma once

#include <cstdint>
#include <deque>
#include <limits>
#include <string>

#include "base/clock.h"

namespace assay {

/// When a node was heard of.
struct Heartbeat {
  SteadyTime at;
  WallTime wall;
};

/// What the times of a node are worth: how far its clock is from ours, and whether that stays so. Not thread-safe.
class NodeClock {
 public:
  enum class State {
    right,      ///< as far as anybody knows: its times are taken as they are
    settling,   ///< it is wrong and was set just now: what it reads has to wait
    corrected,  ///< it is wrong by the same all the time: its times are put right
    unsteady,   ///< it is wrong and keeps changing: nobody knows when anything was read
  };

  /// Its clock less ours, as a request of it shows.
  void observe(double skew_s, Heartbeat now);
  /// Most nodes agree that it is ours that is wrong: then nothing is put right.
  void doubt_ours(bool doubtful) { ours_is_doubtful_ = doubtful; }

  /// NaN: not known.
  double skew_s() const { return known_ ? skew_s_ : std::numeric_limits<double>::quiet_NaN(); }
  State state() const;
  /// By our clock, when something was read that the node says was read at `time_ns`. What was read before its clock
  /// went wrong stays as it is, and so does everything unless it is `corrected`.
  std::int64_t corrected(std::int64_t time_ns, WallTime now) const;
  /// What its clock shows when ours shows `now`, of what is known: after its times were put right, the same.
  WallTime shown(WallTime now) const;
  /// "2 h 00 min ahead, times corrected"; empty while it is right.
  std::string note() const;

  /// Beyond this it is wrong: no time service leaves a clock like that, and no request waits that long.
  static constexpr double kWrong_s = 60;
  static constexpr Nanos kSettles = std::chrono::seconds(10);
  /// So many changes within the span make it unsteady.
  static constexpr std::size_t kUnsteadyChanges = 3;
  static constexpr Nanos kUnsteadySpan = std::chrono::minutes(5);

 private:
  bool is_wrong() const;
  void note_change(SteadyTime at);

  bool known_ = false;
  bool ours_is_doubtful_ = false;
  double skew_s_ = 0;
  double correction_s_ = 0;                 ///< stays while the difference does, so that what comes twice is the same
  std::size_t seen_ = 0;                    ///< requests since the last change
  SteadyTime changed_;                      ///< the last time
  SteadyTime latest_;                       ///< request
  std::deque<SteadyTime> changes_;          ///< of the span
  WallTime wrong_since_ = WallTime::min();  ///< the earliest: it has never been right
};

}  // namespace assay
