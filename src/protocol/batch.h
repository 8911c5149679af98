#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "model/series.h"
#include "telemetry/devices.h"
#include "telemetry/telemetry_event.h"

namespace assay {

struct Reading;
struct Sample;

// What agents send to their leader (docs/reference/agent-protocol.md). A series is named once and numbered from then
// on, within a *stream*: the life of one agent process.

struct SeriesName {
  SeriesKey key;
  std::string unit;
  bool operator==(const SeriesName&) const = default;
};

struct BatchSample {
  std::uint32_t series = 0;  ///< its number in the stream
  std::int64_t time_ns = 0;
  double value = 0;
};

struct Batch {
  std::string stream;                ///< new with every start of an agent
  std::uint64_t sequence = 0;        ///< 1, 2, 3 … within the stream
  std::uint32_t first_series = 0;    ///< the number of the first of `series`
  std::vector<SeriesName> series;    ///< those that this batch names
  std::vector<BatchSample> samples;  ///< ascending in time
  std::vector<TelemetryEvent> events;
  std::optional<std::vector<DeviceFacts>> devices;   ///< all of them, when they have changed
  std::optional<std::vector<GpuProcess>> processes;  ///< all of them, when somebody looked
};

inline constexpr std::size_t kMaxBatchSeries = 65'536;    ///< of one stream
inline constexpr std::size_t kMaxBatchSamples = 1 << 20;  ///< of one batch
inline constexpr std::size_t kMaxBatchEvents = 4096;      ///< of one batch

/// The bytes of a batch, to be framed by whoever sends or keeps it.
std::string encode_batch(const Batch& batch);
/// Any bytes: `bad_file` if they are no batch or beyond the limits above. Samples may name series that the batch does
/// not: whether those are known is up to the reader.
Result<Batch> decode_batch(std::string_view bytes);

/// Several batches in one request: each with its length before it.
void append_framed(std::string& out, std::string_view batch);
/// Takes the next one off; empty at the end or when what is left is no frame (then `rest` is not empty).
std::optional<std::string_view> take_framed(std::string_view& rest);

/// Collects readings into batches and numbers their series. One thread at a time.
class BatchBuilder {
 public:
  explicit BatchBuilder(std::string stream) : stream_(std::move(stream)) {}

  /// Readings beyond the limits lose what is too much: `dropped` counts it.
  void add(WallTime time, Reading reading);
  bool empty() const;
  /// What was collected since the last call, with the next sequence number. Series are named in the first batch that
  /// has them; see `Batch::first_series`.
  Batch take();

  const std::string& stream() const { return stream_; }
  /// Every series named so far, in the order of their numbers: for a leader that has forgotten them.
  const std::vector<SeriesName>& names() const { return names_; }
  std::uint64_t dropped() const { return dropped_; }

 private:
  std::optional<std::uint32_t> number_of(Sample& sample, std::size_t guess);

  std::string stream_;
  std::uint64_t sequence_ = 0;
  std::vector<SeriesName> names_;
  std::map<SeriesKey, std::uint32_t> numbers_;
  std::uint32_t named_ = 0;                ///< how many of `names_` earlier batches have named
  std::vector<std::uint32_t> last_order_;  ///< numbers by place within a grid time: the next one is usually alike
  std::size_t place_ = 0;
  Batch open_;
  std::uint64_t dropped_ = 0;
};

}  // namespace assay
