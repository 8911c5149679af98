#include "agent/spool.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "base/log.h"

namespace assay {
namespace {

/// A 16th of the limit is lost at a time when it is full; larger segments would make no reading faster.
constexpr std::uint64_t kSmallestSegment = std::uint64_t{64} << 10;
constexpr std::uint64_t kLargestSegment = std::uint64_t{8} << 20;

constexpr std::string_view kPrefix = "spool-";
constexpr std::string_view kSuffix = ".seg";

std::string name_of_segment(std::uint32_t number) { return fmt::format("{}{:010}{}", kPrefix, number, kSuffix); }

/// Nothing where it is the name of another file.
std::optional<std::uint32_t> number_in(const std::string& name) {
  if (!name.starts_with(kPrefix)) return std::nullopt;
  const auto number = std::strtoul(name.c_str() + kPrefix.size(), nullptr, 10);
  if (number == 0 || number >= UINT32_MAX) return std::nullopt;
  const auto parsed = static_cast<std::uint32_t>(number);
  return name_of_segment(parsed) == name ? std::optional(parsed) : std::nullopt;
}

}  // namespace

Spool::Spool(SpoolOptions options)
    : options_(std::move(options)),
      segment_bytes_(std::clamp(static_cast<std::uint64_t>(std::max<std::int64_t>(options_.limit.count, 0)) / 16,
                                kSmallestSegment, kLargestSegment)) {}

fs::path Spool::path_of(std::uint32_t number) const { return options_.folder / name_of_segment(number); }

Result<Spool> Spool::open(SpoolOptions options) {
  ASSAY_CHECK(make_folders(options.folder).within("making the spool"));
  Spool spool(std::move(options));
  std::error_code code;
  for (const auto& entry : fs::directory_iterator(spool.options_.folder, code)) {
    const auto number = number_in(entry.path().filename().string());
    if (!number) continue;
    std::error_code unknown;
    const auto size = fs::file_size(entry.path(), unknown);
    if (!unknown) spool.segments_.push_back({.number = *number, .size = size});
  }
  if (code) return system_error(code.value(), fmt::format("cannot list '{}'", spool.options_.folder.string()));
  std::sort(spool.segments_.begin(), spool.segments_.end(),
            [](const Segment& a, const Segment& b) { return a.number < b.number; });
  for (const auto& segment : spool.segments_) spool.bytes_ += segment.size;
  if (!spool.segments_.empty()) spool.next_number_ = spool.segments_.back().number + 1;
  return spool;
}

void Spool::append(const SpoolStream& stream, const WaitingBatch& batch) {
  if (!file_ && !begin_segment(stream)) {
    ++counts_.unwritten;
    return;
  }
  const Segment& last = segments_.back();
  std::string frame;
  put_batch_frame(frame, last.number, last.size, batch);
  if (!write(frame)) {
    ++counts_.unwritten;
    return;
  }
  said_unwritten_ = false;
  if (segments_.back().size >= segment_bytes_) file_.reset();
  make_room(0);
}

bool Spool::begin_segment(const SpoolStream& stream) {
  std::string frame;
  put_begin_frame(frame, next_number_, stream);
  make_room(frame.size());
  auto file = open_file(path_of(next_number_), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (!file) {
    note_unwritten(file.error());
    return false;
  }
  file_ = std::move(*file);
  segments_.push_back({.number = next_number_++, .size = 0});
  if (write(frame)) return true;
  // Without its beginning a segment is of no use.
  ::unlink(path_of(segments_.back().number).c_str());
  segments_.pop_back();
  if (segments_.empty()) reader_.reset();
  file_.reset();
  return false;
}

/// Appends to the last segment: all of it or nothing.
bool Spool::write(std::string_view frames) {
  Segment& last = segments_.back();
  auto written = write_all(file_.get(), frames);
  if (written) {
    last.size += frames.size();
    bytes_ += frames.size();
    return true;
  }
  note_unwritten(written.error());
  // What is lost may have named series: the next batch begins a segment that names them all. Where this one cannot be
  // cut back, what stands there is skipped as damage.
  static_cast<void>(::ftruncate(file_.get(), static_cast<off_t>(last.size)) == 0);
  file_.reset();
  return false;
}

void Spool::note_unwritten(const Error& error) {
  if (std::exchange(said_unwritten_, true)) return;
  log_warning("the spool in '{}' cannot be written, so what the leader does not take is lost: {}",
              options_.folder.string(), error.text());
}

/// Drops the oldest segments until `bytes` more fit. The one that is being written goes last, and only for a new one.
void Spool::make_room(std::uint64_t bytes) {
  const auto limit = static_cast<std::uint64_t>(std::max<std::int64_t>(options_.limit.count, 0));
  while (!segments_.empty() && bytes_ + bytes > limit && !(segments_.size() == 1 && file_)) {
    counts_.overflowed += count_left(segments_.front());
    if (!std::exchange(said_full_, true)) {
      log_warning("the spool is full ({}): the oldest batches make room for new ones", format_bytes(options_.limit));
    }
    drop_front();
  }
}

/// How many batches of the oldest segment were not acknowledged.
std::uint64_t Spool::count_left(const Segment& segment) {
  auto reader = SegmentReader::open(path_of(segment.number), segment.number);
  if (!reader) return 0;
  if (reader_) reader->seek(reader_->position());
  std::uint64_t count = 0;
  while (reader->next()) ++count;
  return count;
}

void Spool::drop_front() {
  const Segment& front = segments_.front();
  ::unlink(path_of(front.number).c_str());
  bytes_ -= front.size;
  reader_.reset();
  if (segments_.size() == 1) file_.reset();
  segments_.pop_front();
  if (segments_.empty()) said_full_ = false;
}

SegmentReader* Spool::front_reader() {
  while (!segments_.empty() && !reader_) {
    auto opened = SegmentReader::open(path_of(segments_.front().number), segments_.front().number);
    if (opened && opened->stream()) {
      reader_ = std::move(*opened);
      break;
    }
    log_warning("a damaged part of the spool was skipped: '{}'", path_of(segments_.front().number).string());
    drop_front();
  }
  return reader_ ? &*reader_ : nullptr;
}

std::optional<SpooledBatches> Spool::read(std::size_t max_bytes) {
  while (SegmentReader* reader = front_reader()) {
    SpooledBatches found{.stream = reader->stream()->id, .simulated = reader->stream()->simulated, .batches = {}};
    const std::uint64_t start = reader->position();
    std::size_t bytes = 0;
    while (bytes < max_bytes) {
      auto batch = reader->next();
      if (!batch || (bytes > 0 && bytes + batch->bytes.size() > max_bytes)) break;
      bytes += batch->bytes.size();
      found.batches.push_back(std::move(*batch));
    }
    if (!found.batches.empty()) {
      reader->seek(start);
      return found;
    }
    drop_front();
  }
  return std::nullopt;
}

SpoolStream Spool::stream_at_front() {
  SegmentReader* reader = front_reader();
  return reader == nullptr ? SpoolStream() : stream_before(*reader, reader->position());
}

std::size_t Spool::acknowledge(std::string_view stream, std::uint64_t sequence) {
  std::size_t count = 0;
  while (SegmentReader* reader = segments_.empty() ? nullptr : front_reader()) {
    if (reader->stream()->id != stream) return count;
    for (;;) {
      const std::uint64_t position = reader->position();
      const auto batch = reader->next();
      if (!batch) break;
      if (batch->sequence > sequence) {
        reader->seek(position);
        return count;
      }
      ++count;
    }
    drop_front();
  }
  return count;
}

}  // namespace assay
