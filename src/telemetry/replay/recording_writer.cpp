#include "telemetry/replay/recording_writer.h"

#include <fcntl.h>

#include <algorithm>

#include "bytes/frame.h"
#include "bytes/point_chunk.h"
#include "bytes/varint.h"
#include "telemetry/codec/reading_codec.h"
#include "telemetry/reading.h"
#include "telemetry/replay/recording.h"
#include "telemetry/replay/recording_frames.h"

namespace assay {
namespace {

std::uint8_t number_of(RecordingFrame kind) { return static_cast<std::uint8_t>(kind); }

/// A frame of points is closed when it has reached this size, far below what a frame may have.
constexpr std::size_t kBlockBytes = std::size_t{1} << 20;

static_assert(RecordingWriter::kReadingsPerBlock <= kChunkPoints);

}  // namespace

Result<RecordingWriter> RecordingWriter::create(const std::filesystem::path& path) {
  ASSAY_TRY(auto file, open_file(path, O_WRONLY | O_CREAT | O_TRUNC).within("making the recording"));
  RecordingWriter writer(std::move(file));
  std::string payload(kRecordingMark);
  payload.push_back(static_cast<char>(kRecordingVersion));
  ASSAY_CHECK(writer.write_frame(number_of(RecordingFrame::begin), payload));
  return writer;
}

RecordingWriter::~RecordingWriter() {
  if (file_) static_cast<void>(flush());
}

Result<void> RecordingWriter::append(WallTime time, const Reading& reading) {
  std::string names;
  put_varint(names, names_.size());
  const std::size_t known = names_.size();
  std::size_t guess = 0;
  for (const auto& sample : reading.samples) {
    ASSAY_TRY(const std::size_t place, place_of(sample, guess, names));
    kept_[place].push_back({.time_ns = time.time_since_epoch().count(), .step = kNoStep, .value = sample.value});
    guess = place + 1;
  }
  if (names_.size() > known) ASSAY_CHECK(write_frame(number_of(RecordingFrame::series), names));
  if (reading.devices) {
    std::string payload;
    put_devices(payload, *reading.devices);
    ASSAY_CHECK(write_frame(number_of(RecordingFrame::devices), payload));
  }
  for (const auto& event : reading.events) {
    std::string payload;
    put_event(payload, event);
    ASSAY_CHECK(write_frame(number_of(RecordingFrame::event), payload));
  }
  const bool full =
      std::any_of(kept_.begin(), kept_.end(), [](const auto& points) { return points.size() >= kReadingsPerBlock; });
  return full ? flush() : Result<void>();
}

Result<std::size_t> RecordingWriter::place_of(const Sample& sample, std::size_t guess, std::string& names) {
  // A source gives its samples in nearly the same order every time.
  if (guess < names_.size() && *names_[guess] == sample.key) return guess;
  const auto [found, is_new] = places_.try_emplace(sample.key, names_.size());
  if (is_new) {
    if (names_.size() >= kMaxRecordingSeries) {
      places_.erase(found);
      return Error{.kind = ErrorKind::unsupported, .message = "the recording has too many different series"};
    }
    names_.push_back(&found->first);
    kept_.emplace_back();
    put_series(names, sample.key, sample.unit);
  }
  return found->second;
}

Result<void> RecordingWriter::flush() {
  std::string payload;
  std::string chunk;
  for (std::size_t place = 0; place < kept_.size(); ++place) {
    if (kept_[place].empty()) continue;
    chunk.clear();
    encode_chunk(kept_[place], chunk);
    kept_[place].clear();
    put_varint(payload, place);
    put_text(payload, chunk);
    if (payload.size() < kBlockBytes) continue;
    ASSAY_CHECK(write_frame(number_of(RecordingFrame::points), payload));
    payload.clear();
  }
  if (payload.empty()) return {};
  return write_frame(number_of(RecordingFrame::points), payload);
}

Result<void> RecordingWriter::write_frame(std::uint8_t kind, std::string_view payload) {
  std::string frame;
  begin_frame(frame, kind);
  frame += payload;
  seal_frame(frame, 0, offset_);
  ASSAY_CHECK(write_all(file_.get(), frame).within("writing the recording"));
  offset_ += frame.size();
  return {};
}

}  // namespace assay
