#include "store/local/journal_writer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "bytes/chunk.h"
#include "bytes/varint.h"
#include "store/local/journal_frames.h"

namespace assay {
namespace {

/// Large enough to make the system call cheap, small enough to lose little when the process is killed.
constexpr std::size_t kWriteAt = std::size_t{256} << 10;
/// Longer output becomes several frames, so that a reader following the run needs little memory.
constexpr std::size_t kOutputPiece = std::size_t{1} << 20;

std::uint64_t nanos(WallTime time) { return static_cast<std::uint64_t>(time.time_since_epoch().count()); }

/// How many of the first `written` bytes of `frames` are whole frames.
std::size_t whole_frames(std::string_view frames, std::size_t written) {
  std::size_t end = 0;
  while (end < written) {
    const std::size_t next = end + kFrameHeader + look_at_header(frames.substr(end)).length;
    if (next > written) break;
    end = next;
  }
  return end;
}

}  // namespace

Result<JournalWriter> JournalWriter::create(const fs::path& path) {
  FileDescriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (file) return JournalWriter(std::move(file));
  if (errno == EEXIST) {
    return Error{.kind = ErrorKind::busy, .message = fmt::format("'{}' exists already", path.string())};
  }
  return system_error(errno, fmt::format("cannot create '{}'", path.string()));
}

Result<void> JournalWriter::appendable() const {
  if (failure_) return *failure_;
  return {};
}

Result<void> JournalWriter::append_event(WallTime time, std::string_view event) {
  ASSAY_CHECK(appendable());
  if (event.size() > kMaxPayload - sizeof(std::uint64_t)) {
    return Error{.kind = ErrorKind::usage,
                 .message = fmt::format("an event of {} bytes is too long: the limit is 16 MiB", event.size())};
  }
  const std::size_t start = buffer_.size();
  const auto offset = next_offset();
  begin_frame(buffer_, FrameKind::event);
  put_fixed(buffer_, nanos(time), 8);
  buffer_.append(event);
  seal_frame(buffer_, start, offset);
  return write_if_full();
}

SeriesHandle JournalWriter::open_series(const SeriesKey& key, std::string_view unit) {
  const auto [entry, is_new] = handles_.try_emplace(key, static_cast<SeriesHandle>(series_.size()));
  if (is_new) series_.push_back({.key = key, .unit = std::string(unit)});
  return entry->second;
}

Result<void> JournalWriter::append_points(SeriesHandle handle, std::span<const SeriesPoint> points) {
  ASSAY_CHECK(appendable());
  ASSAY_ASSERT(handle < series_.size());
  Series& series = series_[handle];
  for (const auto& point : points) series.tally.add(point.value);
  while (!points.empty()) {
    const auto piece = points.first(std::min(points.size(), kChunkPoints - series.waiting.size()));
    series.waiting.insert(series.waiting.end(), piece.begin(), piece.end());
    points = points.subspan(piece.size());
    if (series.waiting.size() == kChunkPoints) put_chunk(series);
  }
  return write_if_full();
}

Result<void> JournalWriter::append_output(OutputStream stream, WallTime time, std::string_view bytes) {
  ASSAY_CHECK(appendable());
  while (!bytes.empty()) {
    const auto piece = bytes.substr(0, kOutputPiece);
    bytes.remove_prefix(piece.size());
    const std::size_t start = buffer_.size();
    const auto offset = next_offset();
    begin_frame(buffer_, FrameKind::output);
    buffer_.push_back(static_cast<char>(stream));
    put_fixed(buffer_, nanos(time), 8);
    buffer_.append(piece);
    seal_frame(buffer_, start, offset);
    ASSAY_CHECK(write_if_full());
  }
  return {};
}

void JournalWriter::put_definition(Series& series) {
  const std::size_t start = buffer_.size();
  const auto offset = next_offset();
  begin_frame(buffer_, FrameKind::series);
  put_text(buffer_, series.key.name);
  put_text(buffer_, series.unit);
  put_varint(buffer_, series.key.labels.size());
  for (const auto& [name, value] : series.key.labels) {
    put_text(buffer_, name);
    put_text(buffer_, value);
  }
  seal_frame(buffer_, start, offset);
  series.defined_at = offset;
}

void JournalWriter::put_chunk(Series& series) {
  if (!series.defined_at) put_definition(series);
  const std::size_t start = buffer_.size();
  const auto offset = next_offset();
  begin_frame(buffer_, FrameKind::points);
  put_varint(buffer_, *series.defined_at);
  encode_chunk(series.waiting, buffer_);
  seal_frame(buffer_, start, offset);
  series.waiting.clear();
}

Result<void> JournalWriter::write_if_full() { return buffer_.size() >= kWriteAt ? write_buffer() : Result<void>(); }

Result<void> JournalWriter::write_buffer() {
  std::size_t done = 0;
  while (done < buffer_.size()) {
    const ssize_t count = ::write(file_.get(), buffer_.data() + done, buffer_.size() - done);
    if (count >= 0) {
      done += static_cast<std::size_t>(count);
    } else if (errno != EINTR) {
      failure_ = system_error(errno, "cannot write the journal");
      const auto end = static_cast<off_t>(written_ + whole_frames(buffer_, done));
      // Where even this fails a reader skips the torn frame.
      [[maybe_unused]] const int cut = ::ftruncate(file_.get(), end);
      buffer_.clear();
      return *failure_;
    }
  }
  written_ += done;
  buffer_.clear();
  return {};
}

Result<void> JournalWriter::flush() {
  ASSAY_CHECK(appendable());
  for (auto& series : series_) {
    if (!series.waiting.empty()) put_chunk(series);
  }
  return write_buffer();
}

Result<void> JournalWriter::finish() {
  ASSAY_CHECK(flush());
  const auto offset = next_offset();
  begin_frame(buffer_, FrameKind::end);
  seal_frame(buffer_, 0, offset);
  ASSAY_CHECK(write_buffer());
  failure_ = Error{.kind = ErrorKind::internal, .message = "the journal is closed"};
  if (::fdatasync(file_.get()) != 0) return system_error(errno, "cannot sync the journal");
  return {};
}

std::vector<SeriesSummary> JournalWriter::summaries() const {
  std::vector<SeriesSummary> all;
  for (const auto& series : series_) {
    if (!series.tally.empty()) all.push_back(series.tally.summary(series.key, series.unit));
  }
  return all;
}

}  // namespace assay
