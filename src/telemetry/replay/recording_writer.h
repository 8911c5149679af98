#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/files.h"
#include "base/result.h"
#include "model/series.h"

namespace assay {

struct Reading;
struct Sample;

/// Writes readings into a new file, which grows only at its end: whatever dies, what was written stays readable.
/// Points are kept until there are `kReadingsPerBlock` readings, events are written at once. One thread at a time.
class RecordingWriter {
 public:
  /// Errors: `io`, `denied`, … An existing file is replaced.
  static Result<RecordingWriter> create(const std::filesystem::path& path);
  RecordingWriter(RecordingWriter&&) = default;
  RecordingWriter& operator=(RecordingWriter&&) = delete;
  /// Writes what is left, as `flush` does; an error is lost.
  ~RecordingWriter();

  /// Errors: `io` and the like; `unsupported` beyond `kMaxRecordingSeries` series. After an error the file is good up
  /// to what was written before.
  Result<void> append(WallTime time, const Reading& reading);
  /// Writes the points that are still kept.
  Result<void> flush();

  std::uint64_t bytes_written() const { return offset_; }

  /// A minute at one reading a second: the most that a crash costs.
  static constexpr std::size_t kReadingsPerBlock = 64;

 private:
  explicit RecordingWriter(FileDescriptor file) : file_(std::move(file)) {}
  Result<void> write_frame(std::uint8_t kind, std::string_view payload);
  Result<std::size_t> place_of(const Sample& sample, std::size_t guess, std::string& names);

  FileDescriptor file_;
  std::uint64_t offset_ = 0;
  std::map<SeriesKey, std::size_t> places_;
  std::vector<const SeriesKey*> names_;
  std::vector<std::vector<SeriesPoint>> kept_;  ///< by place
};

}  // namespace assay
