#include "store/journal/journal_encoder.h"

#include <fmt/format.h>

#include <algorithm>

#include "bytes/point_chunk.h"
#include "bytes/varint.h"
#include "store/journal/journal_frames.h"

namespace assay {
namespace {

/// Longer output becomes several frames, so that a reader following the run needs little memory.
constexpr std::size_t kOutputPiece = std::size_t{1} << 20;

std::uint64_t nanos_of(WallTime time) { return static_cast<std::uint64_t>(time.time_since_epoch().count()); }

}  // namespace

Result<void> JournalEncoder::add_event(WallTime time, std::string_view event) {
  if (event.size() > kMaxPayload - sizeof(std::uint64_t)) {
    return Error{.kind = ErrorKind::usage,
                 .message = fmt::format("an event of {} bytes is too long: the limit is 16 MiB", event.size())};
  }
  const std::size_t start = frames_.size();
  const auto offset = next_offset();
  begin_frame(frames_, FrameKind::event);
  put_fixed(frames_, nanos_of(time), 8);
  frames_.append(event);
  seal_frame(frames_, start, offset);
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

void JournalEncoder::add_output(OutputStream stream, WallTime time, std::string_view bytes) {
  while (!bytes.empty()) {
    const auto piece = bytes.substr(0, kOutputPiece);
    bytes.remove_prefix(piece.size());
    const std::size_t start = frames_.size();
    const auto offset = next_offset();
    begin_frame(frames_, FrameKind::output);
    frames_.push_back(static_cast<char>(stream));
    put_fixed(frames_, nanos_of(time), 8);
    frames_.append(piece);
    seal_frame(frames_, start, offset);
  }
}

void JournalEncoder::add_definition(Series& series) {
  const std::size_t start = frames_.size();
  const auto offset = next_offset();
  begin_frame(frames_, FrameKind::series);
  put_text(frames_, series.key.name);
  put_text(frames_, series.unit);
  put_varint(frames_, series.key.labels.size());
  for (const auto& [name, value] : series.key.labels) {
    put_text(frames_, name);
    put_text(frames_, value);
  }
  seal_frame(frames_, start, offset);
  series.defined_at = offset;
}

void JournalEncoder::add_chunk(Series& series) {
  if (!series.defined_at) add_definition(series);
  const std::size_t start = frames_.size();
  const auto offset = next_offset();
  begin_frame(frames_, FrameKind::points);
  put_varint(frames_, *series.defined_at);
  encode_chunk(series.waiting, frames_);
  seal_frame(frames_, start, offset);
  series.waiting.clear();
}

void JournalEncoder::close_chunks() {
  for (auto& series : series_) {
    if (!series.waiting.empty()) add_chunk(series);
  }
}

void JournalEncoder::add_end_mark() {
  close_chunks();
  const std::size_t start = frames_.size();
  const auto offset = next_offset();
  begin_frame(frames_, FrameKind::end);
  seal_frame(frames_, start, offset);
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
