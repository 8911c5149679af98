#pragma once

#include <cstdint>
#include <string_view>

namespace assay {

// A recording is a file of frames (bytes/frame.h). Series are numbered in the order in which they are named.
enum class RecordingFrame : std::uint8_t {
  begin = 1,    ///< kRecordingMark and the version, so that other files of frames are not taken for recordings
  series = 2,   ///< number of the first (varint), then series one after the other (telemetry/codec)
  points = 3,   ///< again and again: number of the series (varint), length (varint), chunk (bytes/chunk.h)
  event = 4,    ///< one event (telemetry/codec)
  devices = 5,  ///< all devices (telemetry/codec)
};

inline constexpr std::string_view kRecordingMark = "assay telemetry";
inline constexpr std::uint8_t kRecordingVersion = 1;

}  // namespace assay
