#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/series.h"
#include "telemetry/devices.h"
#include "telemetry/telemetry_event.h"

namespace assay {

/// What one or several sources gave over some time, in memory. A point is a time and a value; which series it belongs
/// to, and in which unit, is said once.
struct RecordedSeries {
  SeriesKey key;
  std::string unit;
  std::vector<std::int64_t> times_ns;  ///< ascending, since the Unix epoch
  std::vector<double> values;          ///< as many
};

struct Recording {
  std::vector<RecordedSeries> series;
  std::vector<TelemetryEvent> events;  ///< ascending in time
  std::vector<DeviceFacts> devices;    ///< the last that were noted
  std::int64_t first_ns = 0;           ///< of all points; both 0 without any
  std::int64_t last_ns = 0;
  std::int64_t period_ns = 0;  ///< the usual time between two readings
  bool cut = false;            ///< the file ends in the middle of a frame: its writer was killed
  std::uint64_t damaged_bytes = 0;
};

inline constexpr std::size_t kMaxRecordingBytes = std::size_t{512} << 20;
inline constexpr std::size_t kMaxRecordingPoints = std::size_t{64} << 20;
inline constexpr std::size_t kMaxRecordingSeries = std::size_t{1} << 20;

/// Reads a recording. What is damaged is left out, the rest is found again; `cut` and `damaged_bytes` say so.
/// Errors: `bad_file` (not a recording, nothing readable in it, beyond the limits).
Result<Recording> parse_recording(std::string_view bytes);
/// The same from a file. Also `missing_file`, `denied`, `io`.
Result<Recording> load_recording(const std::filesystem::path& path);

}  // namespace assay
