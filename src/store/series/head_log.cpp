#include "store/series/head_log.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cmath>
#include <cstdlib>

#include "bytes/frame.h"
#include "bytes/scaled.h"
#include "bytes/varint.h"

namespace assay {
namespace {

/// A frame of samples at its longest stays far below the limit of a frame.
constexpr std::size_t kFrameSamples = 65536;
constexpr std::uint64_t kRawValue = 4;

std::uint64_t place_of(std::uint32_t file, std::uint64_t offset) { return std::uint64_t{file} << 40 | offset; }

/// Scaled by 10^k for the first k that gives it back: zigzag · 8 + k. Else its bits, after a 4.
void put_value(std::string& out, double value) {
  for (std::size_t scale = 0; scale < kScales.size(); ++scale) {
    if (!scales_exactly(value, kScales[scale])) continue;
    const auto scaled = static_cast<std::uint64_t>(std::llrint(value * kScales[scale]));
    put_varint(out, zigzag(scaled) << 3 | scale);
    return;
  }
  put_varint(out, kRawValue);
  put_fixed(out, std::bit_cast<std::uint64_t>(value), 8);
}

void put_samples(std::string& out, std::span<const SeriesSample> samples) {
  put_varint(out, samples.size());
  SeriesSample previous;
  for (const auto& sample : samples) {
    put_varint(out, zigzag(std::uint64_t{sample.series} - previous.series));
    put_varint(out, zigzag(static_cast<std::uint64_t>(sample.time_ns) - static_cast<std::uint64_t>(previous.time_ns)));
    put_value(out, sample.value);
    previous = sample;
  }
}

void put_ids(std::string& out, std::span<const SeriesId> ids) {
  put_varint(out, ids.size());
  for (const SeriesId id : ids) put_varint(out, id);
}

double get_value(ByteReader& in) {
  const auto code = in.varint();
  const auto form = code & 7;
  if (form == kRawValue) return std::bit_cast<double>(in.fixed(8));
  if (form > kRawValue) {
    in.fail();
    return 0;
  }
  return static_cast<double>(static_cast<std::int64_t>(unzigzag(code >> 3))) / kScales[form];
}

/// Empty, and the reader failed, where there is no sense in it.
std::vector<SeriesSample> get_samples(ByteReader& in) {
  const auto count = in.varint();
  // Each takes three bytes at least: a wrong count cannot claim more memory than the frame has bytes.
  if (count > in.rest().size() / 3) in.fail();
  std::vector<SeriesSample> samples;
  if (!in.ok()) return samples;
  samples.reserve(count);
  std::uint64_t id = 0;
  std::uint64_t time = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    id += unzigzag(in.varint());
    time += unzigzag(in.varint());
    samples.push_back({static_cast<SeriesId>(id), static_cast<std::int64_t>(time), get_value(in)});
    if (id > UINT32_MAX || time >= static_cast<std::uint64_t>(kEndOfTime)) in.fail();
  }
  return samples;
}

std::vector<SeriesId> get_ids(ByteReader& in) {
  const auto count = in.varint();
  if (count > in.rest().size()) in.fail();
  std::vector<SeriesId> ids;
  for (std::uint64_t i = 0; in.ok() && i < count; ++i) {
    const auto id = in.varint();
    if (id > UINT32_MAX) in.fail();
    ids.push_back(static_cast<SeriesId>(id));
  }
  return ids;
}

Error senseless() { return Error{.kind = ErrorKind::bad_file, .message = "its content makes no sense"}; }

Result<void> show_series(ByteReader& in, LogVisitor& visitor) {
  const auto id = in.varint();
  SeriesKey key;
  key.name = in.text();
  const auto unit = in.text();
  for (auto labels = in.varint(); labels > 0 && in.ok(); --labels) {
    std::string label(in.text());
    key.labels[std::move(label)] = in.text();
  }
  if (!in.ok() || id > UINT32_MAX) return senseless();
  return visitor.on_series(static_cast<SeriesId>(id), key, unit);
}

Result<void> show_change(LogKind kind, ByteReader& in, LogVisitor& visitor) {
  const auto number = in.varint();
  if (kind == LogKind::late) {
    const auto samples = get_samples(in);
    return in.ok() ? visitor.on_late(number, samples) : senseless();
  }
  TimeRange range;
  if (kind == LogKind::erase) {
    range.from_ns = static_cast<std::int64_t>(in.varint());
    range.to_ns = static_cast<std::int64_t>(in.varint());
    if (range.from_ns < 0 || range.to_ns < 0) in.fail();
  }
  const auto ids = get_ids(in);
  if (!in.ok()) return senseless();
  return kind == LogKind::erase ? visitor.on_erase(number, range, ids) : visitor.on_forget(number, ids);
}

Result<void> show_frame(const FrameView& frame, LogVisitor& visitor) {
  ByteReader in(frame.payload);
  switch (const auto kind = static_cast<LogKind>(frame.kind)) {
    case LogKind::series: return show_series(in, visitor);
    case LogKind::samples: {
      const auto samples = get_samples(in);
      return in.ok() ? visitor.on_samples(samples) : senseless();
    }
    case LogKind::late:
    case LogKind::erase:
    case LogKind::forget: return show_change(kind, in, visitor);
  }
  return senseless();
}

/// Where the next whole frame begins, at `offset` or later; the end if there is none.
std::size_t next_frame(std::string_view bytes, std::size_t offset, std::uint32_t file) {
  while ((offset = bytes.find(kFrameMagic, offset)) != std::string_view::npos) {
    if (look_at_frame(bytes.substr(offset), place_of(file, offset)).status == FrameView::Status::whole) return offset;
    ++offset;
  }
  return bytes.size();
}

}  // namespace

fs::path log_file_path(const fs::path& folder, std::uint32_t number) {
  return folder / fmt::format("head-{:08}.log", number);
}

Result<std::vector<LogFile>> log_files(const fs::path& folder) {
  std::vector<LogFile> files;
  std::error_code code;
  for (const auto& entry : fs::directory_iterator(folder, code)) {
    const auto name = entry.path().filename().string();
    if (!name.starts_with("head-") || !name.ends_with(".log")) continue;
    const auto digits = std::string_view(name).substr(5, name.size() - 9);
    const auto number = std::strtoul(std::string(digits).c_str(), nullptr, 10);
    if (number > 0 && number < UINT32_MAX &&
        log_file_path(folder, static_cast<std::uint32_t>(number)) == entry.path()) {
      files.push_back({static_cast<std::uint32_t>(number), entry.path()});
    }
  }
  if (code) return system_error(code.value(), fmt::format("cannot list '{}'", folder.string()));
  std::sort(files.begin(), files.end(), [](const LogFile& a, const LogFile& b) { return a.number < b.number; });
  return files;
}

Result<std::size_t> read_log(std::string_view bytes, const LogFile& file, bool newest, LogVisitor& visitor) {
  std::size_t offset = 0;
  const auto name = file.path.filename().string();
  while (offset < bytes.size()) {
    const auto frame = look_at_frame(bytes.substr(offset), place_of(file.number, offset));
    if (frame.status != FrameView::Status::whole) {
      const auto next = next_frame(bytes, offset + 1, file.number);
      if (newest && next == bytes.size() && frame.status == FrameView::Status::incomplete) return offset;
      visitor.on_damage(
          fmt::format("{}: {} bytes at offset {} are damaged and were skipped", name, next - offset, offset));
      offset = next;
      continue;
    }
    auto shown = show_frame(frame, visitor);
    if (!shown.ok() && shown.error().kind != ErrorKind::bad_file) return std::move(shown).error();
    if (!shown.ok()) {
      visitor.on_damage(
          fmt::format("{}: the record at offset {} was skipped: {}", name, offset, shown.error().message));
    }
    offset += frame.size();
  }
  return offset;
}

Result<HeadLogWriter> HeadLogWriter::create(fs::path folder, std::uint32_t number, std::uint64_t max_file_bytes) {
  HeadLogWriter writer(std::move(folder), max_file_bytes);
  ASSAY_CHECK(writer.begin_file(number));
  return writer;
}

Result<void> HeadLogWriter::begin_file(std::uint32_t number) {
  ASSAY_TRY(auto file, open_file(log_file_path(folder_, number), O_WRONLY | O_CREAT | O_TRUNC));
  // The name must survive a crash of the machine as well as the content.
  ASSAY_TRY(const auto folder, open_file(folder_, O_RDONLY | O_DIRECTORY));
  if (::fsync(folder.get()) != 0) return system_error(errno, "cannot sync the folder");
  file_ = std::move(file);
  number_ = number;
  written_ = 0;
  return {};
}

template <typename Payload>
void HeadLogWriter::add_frame(LogKind kind, Payload payload) {
  const auto start = buffer_.size();
  begin_frame(buffer_, static_cast<std::uint8_t>(kind));
  payload();
  seal_frame(buffer_, start, place_of(number_, written_ + start));
}

void HeadLogWriter::add_series(SeriesId id, const SeriesKey& key, std::string_view unit) {
  add_frame(LogKind::series, [&] {
    put_varint(buffer_, id);
    put_text(buffer_, key.name);
    put_text(buffer_, unit);
    put_varint(buffer_, key.labels.size());
    for (const auto& [label, value] : key.labels) {
      put_text(buffer_, label);
      put_text(buffer_, value);
    }
  });
}

void HeadLogWriter::add_samples(std::span<const SeriesSample> samples) {
  while (!samples.empty()) {
    const auto piece = samples.first(std::min(samples.size(), kFrameSamples));
    add_frame(LogKind::samples, [&] { put_samples(buffer_, piece); });
    samples = samples.subspan(piece.size());
  }
}

void HeadLogWriter::add_late(std::uint64_t number, std::span<const SeriesSample> samples) {
  ASSAY_ASSERT(samples.size() <= kFrameSamples);
  add_frame(LogKind::late, [&] {
    put_varint(buffer_, number);
    put_samples(buffer_, samples);
  });
}

void HeadLogWriter::add_erase(std::uint64_t number, TimeRange range, std::span<const SeriesId> ids) {
  add_frame(LogKind::erase, [&] {
    put_varint(buffer_, number);
    put_varint(buffer_, static_cast<std::uint64_t>(range.from_ns));
    put_varint(buffer_, static_cast<std::uint64_t>(range.to_ns));
    put_ids(buffer_, ids);
  });
}

void HeadLogWriter::add_forget(std::uint64_t number, std::span<const SeriesId> ids) {
  add_frame(LogKind::forget, [&] {
    put_varint(buffer_, number);
    put_ids(buffer_, ids);
  });
}

Result<void> HeadLogWriter::commit() {
  auto outcome = write_all(file_.get(), buffer_);
  const auto size = buffer_.size();
  buffer_.clear();
  if (!outcome.ok()) {
    const auto end = static_cast<off_t>(written_);
    // Where it cannot be cut back, the next file takes over: what stands there is skipped as damage.
    if (::ftruncate(file_.get(), end) != 0 || ::lseek(file_.get(), end, SEEK_SET) != end) {
      ASSAY_CHECK(begin_file(number_ + 1));
    }
    return std::move(outcome).within("writing the telemetry log");
  }
  written_ += size;
  unsynced_ = unsynced_ || size > 0;
  return {};
}

Result<void> HeadLogWriter::sync() {
  if (!unsynced_) return {};
  if (::fdatasync(file_.get()) != 0) return system_error(errno, "cannot sync the telemetry log");
  unsynced_ = false;
  return {};
}

Result<void> HeadLogWriter::rotate() {
  ASSAY_ASSERT(buffer_.empty());
  ASSAY_CHECK(sync());
  return begin_file(number_ + 1);
}

}  // namespace assay
