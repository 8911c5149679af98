#include "telemetry/replay/recording.h"

#include <algorithm>
#include <map>

#include "base/files.h"
#include "bytes/frame.h"
#include "bytes/point_chunk.h"
#include "telemetry/codec/reading_codec.h"
#include "telemetry/replay/recording_frames.h"
#include "telemetry/sample.h"

namespace assay {
namespace {

Error not_a_recording(std::string message) {
  return {.kind = ErrorKind::bad_file,
          .message = std::move(message),
          .hint = "`assay agent --record FILE` makes recordings."};
}

/// The year 2200. Times beyond it are damage, and without them no difference of two times overflows.
constexpr std::int64_t kLatest = 7'258'118'400'000'000'000;

class RecordingReader {
 public:
  // Damage on purpose can make every few bytes look like the head of a long frame.
  explicit RecordingReader(std::string_view bytes) : bytes_(bytes), search_left_(16 * bytes.size()) {}
  Result<Recording> read();

 private:
  Result<void> take(const FrameView& frame);
  Result<void> take_begin(std::string_view payload);
  Result<void> take_names(std::string_view payload);
  Result<void> take_points(std::string_view payload);
  void append(RecordedSeries& series, const std::vector<SeriesPoint>& points);
  std::size_t next_frame(std::size_t from);
  void settle();

  std::string_view bytes_;
  Recording recording_;
  bool begun_ = false;
  std::size_t search_left_ = 0;  ///< bytes that the search for frames after damage may still check
  std::size_t points_ = 0;
};

Result<Recording> RecordingReader::read() {
  std::size_t at = 0;
  while (at < bytes_.size()) {
    const FrameView frame = look_at_frame(bytes_.substr(at), at);
    if (frame.status == FrameView::Status::whole) {
      ASSAY_CHECK(take(frame));
      at += frame.size();
      continue;
    }
    const std::size_t next = next_frame(at + 1);
    if (next == bytes_.size() && frame.status == FrameView::Status::incomplete) recording_.cut = true;
    recording_.damaged_bytes += next - at;
    at = next;
  }
  if (!begun_) return not_a_recording("this is not a recording of telemetry");
  settle();
  if (recording_.series.empty() && recording_.events.empty()) return not_a_recording("the recording is empty");
  return std::move(recording_);
}

Result<void> RecordingReader::take(const FrameView& frame) {
  BoundedReader in(frame.payload);
  switch (static_cast<RecordingFrame>(frame.kind)) {
    case RecordingFrame::begin: return take_begin(frame.payload);
    case RecordingFrame::series: return take_names(frame.payload);
    case RecordingFrame::points: return take_points(frame.payload);
    case RecordingFrame::event: {
      TelemetryEvent event = take_event(in);
      if (in.at_end()) recording_.events.push_back(std::move(event));
      return {};
    }
    case RecordingFrame::devices: {
      auto devices = take_devices(in);
      if (in.at_end()) recording_.devices = std::move(devices);
      return {};
    }
  }
  return {};  // a newer version's, which the version number would have announced if it mattered
}

Result<void> RecordingReader::take_begin(std::string_view payload) {
  const bool ours = payload.size() > kRecordingMark.size() && payload.starts_with(kRecordingMark);
  if (!ours) return not_a_recording("this is not a recording of telemetry");
  if (static_cast<std::uint8_t>(payload[kRecordingMark.size()]) > kRecordingVersion) {
    return not_a_recording("the recording was made by a newer version of assay");
  }
  begun_ = true;
  return {};
}

Result<void> RecordingReader::take_names(std::string_view payload) {
  BoundedReader in(payload);
  const std::uint64_t first = in.varint();
  auto& series = recording_.series;
  if (!in.ok() || first < series.size()) return {};
  if (first > kMaxRecordingSeries) return not_a_recording("the recording has too many series");
  series.resize(first);  // a lost frame leaves series without a name, which are dropped in the end
  while (in.ok() && !in.at_end()) {
    Sample sample = take_series(in);
    if (!in.ok()) break;
    if (series.size() >= kMaxRecordingSeries) return not_a_recording("the recording has too many series");
    series.push_back({.key = std::move(sample.key), .unit = std::move(sample.unit)});
  }
  return {};
}

Result<void> RecordingReader::take_points(std::string_view payload) {
  BoundedReader in(payload);
  while (in.ok() && !in.at_end()) {
    const std::uint64_t place = in.varint();
    const std::string_view chunk = in.view();
    if (!in.ok() || place >= recording_.series.size()) continue;
    const auto points = decode_chunk(chunk);
    if (!points) continue;
    points_ += points->size();
    if (points_ > kMaxRecordingPoints) return not_a_recording("the recording has too many points");
    append(recording_.series[place], *points);
  }
  return {};
}

void RecordingReader::append(RecordedSeries& series, const std::vector<SeriesPoint>& points) {
  for (const auto& point : points) {
    if (point.time_ns < 0 || point.time_ns > kLatest) continue;
    // The clock was set back while recording; what overlaps is told once.
    if (!series.times_ns.empty() && point.time_ns <= series.times_ns.back()) continue;
    series.times_ns.push_back(point.time_ns);
    series.values.push_back(point.value);
  }
}

/// Where the next whole frame begins.
std::size_t RecordingReader::next_frame(std::size_t from) {
  for (std::size_t at = bytes_.find(kFrameMagic, from); at != std::string_view::npos;
       at = bytes_.find(kFrameMagic, at + 1)) {
    const std::size_t cost = look_at_header(bytes_.substr(at)).length;
    if (cost > search_left_) break;
    search_left_ -= cost;
    if (look_at_frame(bytes_.substr(at), at).status == FrameView::Status::whole) return at;
  }
  return bytes_.size();
}

/// Leaves out series without points and finds the bounds and the usual period.
void RecordingReader::settle() {
  std::erase_if(recording_.series,
                [](const RecordedSeries& series) { return series.key.name.empty() || series.times_ns.empty(); });
  std::map<std::int64_t, std::size_t> steps;
  bool first = true;
  for (const auto& series : recording_.series) {
    recording_.first_ns = first ? series.times_ns.front() : std::min(recording_.first_ns, series.times_ns.front());
    recording_.last_ns = first ? series.times_ns.back() : std::max(recording_.last_ns, series.times_ns.back());
    first = false;
    const std::size_t some = std::min<std::size_t>(series.times_ns.size(), 256);
    // Unsigned, since damaged times may be as far apart as times can be.
    for (std::size_t i = 1; i < some; ++i) {
      const auto step =
          static_cast<std::uint64_t>(series.times_ns[i]) - static_cast<std::uint64_t>(series.times_ns[i - 1]);
      ++steps[static_cast<std::int64_t>(std::min<std::uint64_t>(step, 3'600'000'000'000))];
    }
  }
  const auto usual =
      std::max_element(steps.begin(), steps.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  recording_.period_ns = usual != steps.end() ? usual->first : 1'000'000'000;
  std::stable_sort(recording_.events.begin(), recording_.events.end(),
                   [](const TelemetryEvent& a, const TelemetryEvent& b) { return a.time < b.time; });
}

}  // namespace

Result<Recording> parse_recording(std::string_view bytes) { return RecordingReader(bytes).read(); }

Result<Recording> load_recording(const std::filesystem::path& path) {
  ASSAY_TRY(const std::string bytes, read_file(path, kMaxRecordingBytes));
  auto recording = parse_recording(bytes);
  if (recording) return recording;
  Error error = std::move(recording).error();
  error.at = path.string();
  return error;
}

}  // namespace assay
