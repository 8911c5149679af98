#include "store/journal/journal_reader.h"

#include <fmt/format.h>

#include <algorithm>

#include "bytes/point_chunk.h"
#include "bytes/varint.h"
#include "store/journal/journal_frames.h"

namespace assay {
namespace {

constexpr std::size_t kWindow = std::size_t{1} << 20;
constexpr std::size_t kTypicalDefinition = 512;

WallTime wall_time(std::uint64_t nanos) { return WallTime(Nanos(static_cast<std::int64_t>(nanos))); }

/// Whether what is not whole at the end may still become so.
bool may_go_on(JournalOwner owner) { return owner == JournalOwner::live || owner == JournalOwner::awaited; }

/// A frame that came through the checksum but cannot be understood.
Error unreadable(std::string_view what) { return Error{.kind = ErrorKind::bad_file, .message = std::string(what)}; }

}  // namespace

Result<std::uint64_t> JournalReader::read(std::uint64_t from, JournalOwner owner, JournalVisitor& visitor) {
  ASSAY_TRY(end_, bytes_.size());
  std::uint64_t offset = from;
  ended_ = false;
  while (offset < end_) {
    ASSAY_TRY(const auto frame, frame_at(offset));
    if (frame.status == FrameView::Status::whole) {
      const auto size = frame.size();
      ASSAY_CHECK(show(frame, offset, visitor));
      offset += size;
      continue;
    }
    if (may_go_on(owner) && frame.status == FrameView::Status::incomplete) return offset;
    ASSAY_TRY(const auto next, next_frame(offset + 1));
    // With nothing whole behind it, it may be a frame of which not all has reached us (network file systems).
    if (may_go_on(owner) && next == end_) return offset;
    visitor.on_damage(
        fmt::format("{}: {} bytes at offset {} are damaged and were skipped", name_, next - offset, offset));
    offset = next;
  }
  if (owner == JournalOwner::finished && !ended_ && (offset > from || end_ == 0)) {
    visitor.on_damage(fmt::format("{}: it stops at offset {} without its end mark: the rest is missing", name_, end_));
  }
  return offset;
}

Result<std::uint64_t> JournalReader::end_of_groups() {
  ASSAY_TRY(end_, bytes_.size());
  std::uint64_t end = 0;
  for (std::uint64_t offset = 0; offset < end_;) {
    ASSAY_TRY(const auto frame, frame_at(offset));
    if (frame.status == FrameView::Status::whole && kind_of(frame) == FrameKind::group) {
      end = offset += frame.size();
    } else {
      // Frames of a group that is not whole are found, too, and passed over: no group is in another.
      ASSAY_TRY(offset, next_frame(offset + 1));
    }
  }
  return end;
}

/// Up to `length` bytes at `offset`; fewer where the file ends. Valid until the next call.
Result<std::string_view> JournalReader::peek(std::uint64_t offset, std::size_t length) {
  if (offset >= end_) return std::string_view();
  length = static_cast<std::size_t>(std::min<std::uint64_t>(length, end_ - offset));
  const auto window_end = window_offset_ + window_.size();
  if (offset < window_offset_ || offset + length > window_end) {
    if (offset >= window_offset_ && offset < window_end) {
      window_.erase(0, static_cast<std::size_t>(offset - window_offset_));
    } else {
      window_.clear();
    }
    window_offset_ = offset;
    const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(std::max(length, kWindow), end_ - offset));
    ASSAY_TRY(const auto more, bytes_.read_at(offset + window_.size(), wanted - window_.size()));
    window_ += more;
    // Shorter than at the start: a writer that ran out of disk has cut it back.
    if (window_.size() < wanted) end_ = window_offset_ + window_.size();
  }
  return std::string_view(window_).substr(static_cast<std::size_t>(offset - window_offset_), length);
}

Result<FrameView> JournalReader::frame_at(std::uint64_t offset) {
  ASSAY_TRY(const auto head, peek(offset, kFrameHeader));
  const auto header = look_at_header(head);
  if (header.status != FrameView::Status::whole) return FrameView{header.status};
  ASSAY_TRY(const auto bytes, peek(offset, kFrameHeader + header.length));
  return look_at_frame(bytes, offset);
}

/// Where the next whole frame begins, at `offset` or later; the end of the file if there is none.
Result<std::uint64_t> JournalReader::next_frame(std::uint64_t offset) {
  while (offset < end_) {
    ASSAY_TRY(const auto bytes, peek(offset, kWindow));
    const auto found = bytes.find(kFrameMagic);
    if (found == std::string_view::npos) {
      // The magic may begin in the last bytes of this window.
      if (offset + bytes.size() >= end_) return end_;
      offset += bytes.size() - (kFrameMagic.size() - 1);
      continue;
    }
    offset += found;
    ASSAY_TRY(const auto frame, frame_at(offset));
    if (frame.status == FrameView::Status::whole) return offset;
    ++offset;
  }
  return end_;
}

Result<void> JournalReader::show(const FrameView& frame, std::uint64_t offset, JournalVisitor& visitor) {
  ByteReader reader(frame.payload);
  if (kind_of(frame) < FrameKind::mark) ended_ = kind_of(frame) == FrameKind::end;
  Result<void> shown = unreadable("its content means nothing to this version of assay");
  switch (kind_of(frame)) {
    case FrameKind::series: shown = define_series(offset, frame.payload); break;
    case FrameKind::end: shown = {}; break;
    case FrameKind::event: {
      const auto time = wall_time(reader.fixed(8));
      if (!reader.ok()) break;
      visitor.on_event(time, reader.rest());
      shown = {};
      break;
    }
    case FrameKind::output: {
      const auto stream = reader.byte();
      const auto time = wall_time(reader.fixed(8));
      if (!reader.ok() || stream > static_cast<std::uint8_t>(OutputStream::error)) break;
      visitor.on_output(static_cast<OutputStream>(stream), time, reader.rest());
      shown = {};
      break;
    }
    case FrameKind::points: shown = show_points(frame.payload, visitor); break;
    case FrameKind::mark:
      visitor.on_mark(frame.payload);
      shown = {};
      break;
    case FrameKind::group: shown = show_group(frame.payload, offset + kFrameHeader, visitor); break;
  }
  if (shown.ok() || shown.error().kind != ErrorKind::bad_file) return shown;
  visitor.on_damage(fmt::format("{}: the record at offset {} was skipped: {}", name_, offset, shown.error().message));
  return {};
}

Result<void> JournalReader::show_group(std::string_view payload, std::uint64_t offset, JournalVisitor& visitor) {
  while (!payload.empty()) {
    const auto frame = look_at_frame(payload, offset);
    if (frame.status != FrameView::Status::whole || kind_of(frame) == FrameKind::group) {
      return unreadable("a group of something else than frames");
    }
    ASSAY_CHECK(show(frame, offset, visitor));
    payload.remove_prefix(frame.size());
    offset += frame.size();
  }
  return {};
}

Result<void> JournalReader::show_points(std::string_view payload, JournalVisitor& visitor) {
  ByteReader reader(payload);
  const auto definition = reader.varint();
  if (!reader.ok()) return unreadable("points without a series");
  if (!series_.contains(definition)) ASSAY_CHECK(look_up_series(definition));
  ASSAY_TRY(const auto points, decode_chunk(reader.rest()));
  const auto& series = series_.at(definition);
  visitor.on_points(series.key, series.unit, points);
  return {};
}

Result<void> JournalReader::define_series(std::uint64_t offset, std::string_view payload) {
  ByteReader reader(payload);
  Series series;
  series.key.name = reader.text();
  series.unit = reader.text();
  for (auto labels = reader.varint(); labels > 0 && reader.ok(); --labels) {
    std::string label(reader.text());
    series.key.labels[std::move(label)] = reader.text();
  }
  if (!reader.ok()) return unreadable("the definition of a series makes no sense");
  // What is asked for again is looked up again: a journal may define more of them than fit into memory.
  if (series_.size() >= kMostKnownSeries) series_.clear();
  series_.insert_or_assign(offset, std::move(series));
  return {};
}

/// For a reading that began after the definition. It has bytes of its own: the window stays where it is.
Result<void> JournalReader::look_up_series(std::uint64_t offset) {
  ASSAY_TRY(std::string bytes, bytes_.read_at(offset, kTypicalDefinition));
  if (const auto header = look_at_header(bytes); header.length > bytes.size()) {
    ASSAY_TRY(bytes, bytes_.read_at(offset, kFrameHeader + header.length));
  }
  const auto frame = look_at_frame(bytes, offset);
  if (frame.status != FrameView::Status::whole || kind_of(frame) != FrameKind::series) {
    return unreadable(fmt::format("the definition of its series at offset {} is damaged", offset));
  }
  return define_series(offset, frame.payload);
}

std::size_t whole_frames(std::string_view piece, std::uint64_t offset) {
  std::size_t end = 0;
  while (end < piece.size()) {
    const auto frame = look_at_frame(piece.substr(end), offset + end);
    if (frame.status != FrameView::Status::whole) break;
    end += frame.size();
  }
  return end;
}

}  // namespace assay
