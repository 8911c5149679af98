#include "agent/spool_segment.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

#include "bytes/frame.h"
#include "bytes/varint.h"

namespace assay {
namespace {

constexpr std::string_view kMark = "assay spool";
constexpr std::uint8_t kVersion = 1;
constexpr std::uint8_t kSimulated = 1;
constexpr std::size_t kReadBytes = std::size_t{256} << 10;

std::uint64_t place_of(std::uint32_t number, std::uint64_t offset) { return std::uint64_t{number} << 40 | offset; }

void begin(std::string& out, SpoolFrame kind) { begin_frame(out, static_cast<std::uint8_t>(kind)); }

std::optional<SpoolStream> parse_begin(std::string_view payload) {
  if (!payload.starts_with(kMark)) return std::nullopt;
  ByteReader in(payload.substr(kMark.size()));
  const auto version = in.byte();
  const auto flags = in.byte();
  if (!in.ok() || version != kVersion) return std::nullopt;
  auto batch = decode_batch(in.rest());
  if (!batch || batch->first_series != 0) return std::nullopt;
  return SpoolStream{.id = std::move(batch->stream),
                     .simulated = (flags & kSimulated) != 0,
                     .names = std::move(batch->series),
                     .devices = std::move(batch->devices)};
}

}  // namespace

void put_begin_frame(std::string& out, std::uint32_t number, const SpoolStream& stream) {
  const std::size_t start = out.size();
  begin(out, SpoolFrame::begin);
  out += kMark;
  out.push_back(static_cast<char>(kVersion));
  out.push_back(static_cast<char>(stream.simulated ? kSimulated : 0));
  out += encode_batch({.stream = stream.id, .series = stream.names, .devices = stream.devices});
  seal_frame(out, start, place_of(number, 0));
}

void put_batch_frame(std::string& out, std::uint32_t number, std::uint64_t offset, const WaitingBatch& batch) {
  const std::size_t start = out.size();
  begin(out, SpoolFrame::batch);
  put_varint(out, batch.sequence);
  out += batch.bytes;
  seal_frame(out, start, place_of(number, offset + start));
}

Result<SegmentReader> SegmentReader::open(const fs::path& path, std::uint32_t number) {
  ASSAY_TRY(auto file, open_file(path, O_RDONLY));
  SegmentReader reader(std::move(file), number);
  reader.read_begin();
  return reader;
}

void SegmentReader::read_begin() {
  const auto frame = next_frame();
  if (frame && frame->kind == SpoolFrame::begin) stream_ = parse_begin(frame->payload);
}

std::optional<WaitingBatch> SegmentReader::next() {
  if (!stream_) return std::nullopt;
  while (const auto frame = next_frame()) {
    ByteReader in(frame->payload);
    const auto sequence = in.varint();
    if (frame->kind == SpoolFrame::batch && in.ok()) return WaitingBatch{sequence, std::string(in.rest())};
  }
  return std::nullopt;
}

std::optional<SegmentReader::Frame> SegmentReader::next_frame() {
  for (;;) {
    const auto header = look_at_header(bytes_at_position(kFrameHeader));
    if (header.status == FrameView::Status::incomplete) return std::nullopt;
    if (header.status == FrameView::Status::whole) {
      const auto bytes = bytes_at_position(kFrameHeader + header.length);
      const auto frame = look_at_frame(bytes, place_of(number_, position_));
      if (frame.status == FrameView::Status::whole) {
        position_ += frame.size();
        return Frame{static_cast<SpoolFrame>(frame.kind), frame.payload};
      }
    }
    if (!skip_damage()) return std::nullopt;
  }
}

/// Moves to the next place where a frame might begin. False at the end of the file.
bool SegmentReader::skip_damage() {
  const std::uint64_t from = position_;
  ++position_;
  for (;;) {
    const auto bytes = bytes_at_position(kReadBytes);
    const auto found = bytes.find(kFrameMagic);
    if (found != std::string_view::npos) {
      position_ += found;
      damaged_bytes_ += position_ - from;
      return true;
    }
    if (bytes.size() < kFrameMagic.size()) {
      // Nothing follows: the tail was being written when its writer was killed. More may come behind it.
      position_ = from;
      return false;
    }
    // The mark may lie across the end of what was read.
    position_ += bytes.size() - kFrameMagic.size() + 1;
  }
}

/// Up to `wanted` bytes, fewer at the end of the file.
std::string_view SegmentReader::bytes_at_position(std::size_t wanted) {
  const bool inside = position_ >= buffer_at_ && position_ + wanted <= buffer_at_ + buffer_.size();
  if (!inside) {
    buffer_.resize(std::max(wanted, kReadBytes));
    buffer_at_ = position_;
    std::size_t filled = 0;
    while (filled < buffer_.size()) {
      const ssize_t size = ::pread(file_.get(), buffer_.data() + filled, buffer_.size() - filled,
                                   static_cast<off_t>(position_ + filled));
      if (size < 0 && errno == EINTR) continue;
      if (size <= 0) break;
      filled += static_cast<std::size_t>(size);
    }
    buffer_.resize(filled);
  }
  return std::string_view(buffer_).substr(position_ - buffer_at_, wanted);
}

SpoolStream stream_before(SegmentReader& reader, std::uint64_t end) {
  SpoolStream stream = reader.stream().value_or(SpoolStream());
  const std::uint64_t position = reader.position();
  reader.seek(0);
  while (reader.position() < end) {
    const auto waiting = reader.next();
    if (!waiting || reader.position() > end) break;
    auto batch = decode_batch(waiting->bytes);
    if (!batch) continue;
    if (batch->devices) stream.devices = std::move(batch->devices);
    // The segment may begin with more names than its first batches knew.
    for (std::size_t i = 0; i < batch->series.size(); ++i) {
      if (batch->first_series + i == stream.names.size()) stream.names.push_back(std::move(batch->series[i]));
    }
  }
  reader.seek(position);
  return stream;
}

std::string with_all_names(const std::string& batch, const SpoolStream& stream) {
  auto decoded = decode_batch(batch);
  if (!decoded) return batch;
  std::vector<SeriesName> all = stream.names;
  for (std::size_t i = 0; i < decoded->series.size(); ++i) {
    if (decoded->first_series + i == all.size()) all.push_back(std::move(decoded->series[i]));
  }
  decoded->first_series = 0;
  decoded->series = std::move(all);
  if (!decoded->devices) decoded->devices = stream.devices;
  return encode_batch(*decoded);
}

}  // namespace assay
