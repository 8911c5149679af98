#include "store/journal/journal_encoder.h"

#include <fmt/format.h>

#include <algorithm>

#include "bytes/point_chunk.h"
#include "bytes/varint.h"

namespace assay {
namespace {

/// Longer output becomes several frames, so that a reader following the run needs little memory.
constexpr std::size_t kOutputPiece = std::size_t{1} << 20;

std::uint64_t nanos_of(WallTime time) { return static_cast<std::uint64_t>(time.time_since_epoch().count()); }

}  // namespace

JournalEncoder JournalEncoder::of_groups(std::uint64_t offset) {
  JournalEncoder encoder;
  encoder.in_groups_ = true;
  encoder.taken_ = offset;
  return encoder;
}

/// Where in `frames_` the new frame starts. Those of a group stand in it as they would without: at their own place.
std::size_t JournalEncoder::begin(FrameKind kind) {
  if (in_groups_ && frames_.empty()) begin_frame(frames_, FrameKind::group);
  const std::size_t start = frames_.size();
  begin_frame(frames_, kind);
  return start;
}

Result<void> JournalEncoder::add_event(WallTime time, std::string_view event) {
  if (event.size() > kMaxPayload - sizeof(std::uint64_t)) {
    return Error{.kind = ErrorKind::usage,
                 .message = fmt::format("an event of {} bytes is too long: the limit is 16 MiB", event.size())};
  }
  const std::size_t start = begin(FrameKind::event);
  put_fixed(frames_, nanos_of(time), 8);
  frames_.append(event);
  seal(start);
  return {};
}

SeriesHandle JournalEncoder::open_series(const SeriesKey& key, std::string_view unit) {
  const auto [entry, is_new] = handles_.try_emplace(key, static_cast<SeriesHandle>(series_.size()));
  if (is_new) series_.push_back({.key = key, .unit = std::string(unit)});
  return entry->second;
}

void JournalEncoder::add_points(SeriesHandle handle, std::span<const SeriesPoint> points) {
  ASSAY_ASSERT(handle < series_.size());
  Series& series = series_[handle];
  for (const auto& point : points) series.tally.add(point.value);
  while (!points.empty()) {
    const auto piece = points.first(std::min(points.size(), kChunkPoints - series.waiting.size()));
    series.waiting.insert(series.waiting.end(), piece.begin(), piece.end());
    points = points.subspan(piece.size());
    if (series.waiting.size() == kChunkPoints) add_chunk(series);
  }
}

void JournalEncoder::count_points(const SeriesKey& key, std::string_view unit, std::span<const SeriesPoint> points) {
  Series& series = series_[open_series(key, unit)];
  for (const auto& point : points) series.tally.add(point.value);
}

void JournalEncoder::add_output(OutputStream stream, WallTime time, std::string_view bytes) {
  while (!bytes.empty()) {
    const auto piece = bytes.substr(0, kOutputPiece);
    bytes.remove_prefix(piece.size());
    const std::size_t start = begin(FrameKind::output);
    frames_.push_back(static_cast<char>(stream));
    put_fixed(frames_, nanos_of(time), 8);
    frames_.append(piece);
    seal(start);
  }
}

void JournalEncoder::add_definition(Series& series) {
  const std::size_t start = begin(FrameKind::series);
  put_text(frames_, series.key.name);
  put_text(frames_, series.unit);
  put_varint(frames_, series.key.labels.size());
  for (const auto& [name, value] : series.key.labels) {
    put_text(frames_, name);
    put_text(frames_, value);
  }
  seal(start);
  series.defined_at = taken_ + start;
}

void JournalEncoder::add_chunk(Series& series) {
  if (!series.defined_at) add_definition(series);
  const std::size_t start = begin(FrameKind::points);
  put_varint(frames_, *series.defined_at);
  encode_chunk(series.waiting, frames_);
  seal(start);
  series.waiting.clear();
}

void JournalEncoder::close_chunks() {
  for (auto& series : series_) {
    if (!series.waiting.empty()) add_chunk(series);
  }
}

void JournalEncoder::add_end_mark() {
  close_chunks();
  seal(begin(FrameKind::end));
}

Result<void> JournalEncoder::add_mark(std::string_view mark) {
  ASSAY_ASSERT(in_groups_);
  close_chunks();
  const std::size_t start = begin(FrameKind::mark);
  frames_.append(mark);
  if (frames_.size() > kFrameHeader + kMaxPayload) {
    return Error{.kind = ErrorKind::usage,
                 .message = fmt::format("{} bytes up to a mark are too many: the limit is 16 MiB", frames_.size())};
  }
  seal(start);
  seal(0);
  return {};
}

void JournalEncoder::drop_frames() {
  taken_ += frames_.size();
  frames_.clear();
}

std::vector<SeriesSummary> JournalEncoder::summaries() const {
  std::vector<SeriesSummary> all;
  for (const auto& series : series_) {
    if (!series.tally.empty()) all.push_back(series.tally.summary(series.key, series.unit));
  }
  return all;
}

}  // namespace assay
