#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/result.h"
#include "telemetry/replay/recording.h"

namespace assay {

/// The recording that is part of this program: an H200 at work.
Result<Recording> built_in_recording();

/// Their names, which go into one batch, fit into one request.
inline constexpr std::size_t kMostSeriesOfNode = 32'768;

struct FleetRecordingOptions {
  std::size_t gpus = 8;                ///< of a node
  std::optional<std::size_t> metrics;  ///< series of each GPU at most, the most frequent ones; all if absent
};

/// A recording made ready to be played by many nodes at once: it has as many GPUs as each of them, and what does not
/// change from reading to reading is worked out. Immutable, shared by all nodes.
class FleetRecording {
 public:
  /// Where the recording has fewer GPUs, copies of them fill up, each at a point of its own in the recording; where it
  /// has more, the first are taken. Errors: `bad_file` (there is no GPU in it), `usage` (more series than a node may
  /// have).
  static Result<std::shared_ptr<const FleetRecording>> make(const Recording& recorded,
                                                            const FleetRecordingOptions& options);

  /// Times that several series share, and how long each stays the present one.
  struct Timeline {
    const std::vector<std::int64_t>* times_ns = nullptr;
    std::int64_t window_ns = 0;
  };
  /// One series of a node; its place in `tracks` is its number in the node's stream.
  struct Track {
    const RecordedSeries* series = nullptr;
    std::optional<std::size_t> gpu;  ///< absent for series of the host
    std::size_t timeline = 0;
    double scale = 0;  ///< values were recorded in steps of 1/scale; 0: in no steps
    /// Its value when its GPU was hottest: what a GPU under constant load shows. Absent for counters and the host.
    std::optional<double> under_load;
  };

  const std::shared_ptr<const Recording>& recording() const { return recording_; }
  const std::vector<Track>& tracks() const { return tracks_; }
  const std::vector<Timeline>& timelines() const { return timelines_; }
  /// By GPU; infinite where it was not recorded.
  const std::vector<double>& memory_bytes() const { return memory_bytes_; }
  /// By GPU; NaN where it was not recorded.
  const std::vector<double>& hottest_c() const { return hottest_c_; }
  /// Of one round.
  std::int64_t length_ns() const { return recording_->last_ns - recording_->first_ns + recording_->period_ns; }

 private:
  explicit FleetRecording(std::shared_ptr<const Recording> recording);
  std::size_t timeline_of(const RecordedSeries& series);

  std::shared_ptr<const Recording> recording_;
  std::vector<Track> tracks_;
  std::vector<Timeline> timelines_;
  std::vector<double> memory_bytes_;
  std::vector<double> hottest_c_;
};

}  // namespace assay
