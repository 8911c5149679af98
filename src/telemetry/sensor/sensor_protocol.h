#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "telemetry/reading.h"

namespace assay {

// What a sensor and whoever reads from it say to each other. Both are the same binary, so nothing is versioned; but a
// sensor shares its memory with a driver's library, so the answers are checked like any input from outside.
//
// A request has five bytes: 'r' (read) or 'e' (read everything), and a number. The answer to it is any number of
// `schema` frames, which name series, then one `reading` or `failure` frame with the request's number:
//
//   payload length (4) · kind (1) · payload                   numbers are little-endian
//
// A series is named once and from then on known by its place in the order of naming.

enum class SensorFrame : std::uint8_t { schema = 1, reading = 2, failure = 3 };

inline constexpr std::size_t kSensorFrameHeader = 5;
inline constexpr std::size_t kMaxSensorFrame = std::size_t{4} << 20;
inline constexpr std::size_t kMaxSensorSeries = 65536;
inline constexpr std::size_t kMaxSensorEvents = 1024;

struct SensorRequest {
  bool everything = false;
  std::uint32_t number = 0;
};
inline constexpr std::size_t kSensorRequestBytes = 5;
std::string encode_sensor_request(SensorRequest request);
/// Nothing if these are not the bytes of a request.
std::optional<SensorRequest> decode_sensor_request(std::string_view bytes);

/// The sensor's side: turns readings into frames and remembers which series were named.
class SensorEncoder {
 public:
  /// Appends the frames of one answer to `out`. Events beyond the limit are left out. An error (`internal`) if the
  /// source has had more different series than a sensor may name, or a reading is too large.
  Result<void> encode(std::uint32_t number, const Result<Reading>& result, std::string& out);

 private:
  Result<std::string> encode_samples(const std::vector<Sample>& samples, std::string& schema);
  std::size_t find_or_name(const Sample& sample, std::size_t guess, std::string& schema);

  std::map<SeriesKey, std::size_t> places_;
  std::vector<const SeriesKey*> names_;
};

struct SensorAnswer {
  std::uint32_t number = 0;
  Result<Reading> result;
};

/// The other side. After an error (`bad_file`) it must not be used again.
class SensorDecoder {
 public:
  /// Takes bytes as they come from the pipe, in any pieces.
  void append(std::string_view bytes) { buffer_ += bytes; }
  /// The next whole answer; nothing if there is none yet.
  Result<std::optional<SensorAnswer>> next();

 private:
  Result<void> read_schema(std::string_view payload);
  Result<SensorAnswer> read_reading(std::string_view payload) const;
  static Result<SensorAnswer> read_failure(std::string_view payload);

  std::string buffer_;
  std::vector<Sample> series_;
};

}  // namespace assay
