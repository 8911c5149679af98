#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "base/result.h"
#include "store/series_types.h"

namespace assay {

// The head log keeps what is not yet in chunks: files head-NNNNNNNN.log of frames (bytes/frame.h), never changed
// once the next one was begun, deleted from the oldest on. The place that a frame's checksum covers is the number of
// its file and its offset in it.
//
// `late`, `erase` and `forget` change what is in chunks already. They are numbered, and the database knows the last one
// it has seen, so that none is carried out twice.

enum class LogKind : std::uint8_t {
  series = 1,   ///< id, name, unit, labels
  samples = 2,  ///< for the head
  late = 3,     ///< number, then samples that belong among the chunks
  erase = 4,    ///< number, range, ids
  forget = 5,   ///< number, ids
};

/// Takes part in reading a log, in the order in which it was written.
class LogVisitor {
 public:
  virtual ~LogVisitor() = default;
  virtual Result<void> on_series(SeriesId id, const SeriesKey& key, std::string_view unit) = 0;
  virtual Result<void> on_samples(std::span<const SeriesSample> samples) = 0;
  virtual Result<void> on_late(std::uint64_t number, std::span<const SeriesSample> samples) = 0;
  virtual Result<void> on_erase(std::uint64_t number, TimeRange range, std::span<const SeriesId> ids) = 0;
  virtual Result<void> on_forget(std::uint64_t number, std::span<const SeriesId> ids) = 0;
  virtual void on_damage(std::string what) = 0;
};

struct LogFile {
  std::uint32_t number = 0;
  fs::path path;
};
/// Oldest first.
Result<std::vector<LogFile>> log_files(const fs::path& folder);
fs::path log_file_path(const fs::path& folder, std::uint32_t number);

/// Reads the bytes of one log file, which may be damaged anywhere: the rest is still read. `newest`: a frame that is
/// cut off at the end was being written in a crash and is nothing to report; the answer is where it begins, else the
/// end. An error is the visitor's.
Result<std::size_t> read_log(std::string_view bytes, const LogFile& file, bool newest, LogVisitor& visitor);

/// Writes the head log. What is added gathers in memory until `commit`, which writes all of it or nothing.
/// Not thread-safe.
class HeadLogWriter {
 public:
  /// Begins with a new file of that number.
  static Result<HeadLogWriter> create(fs::path folder, std::uint32_t number, std::uint64_t max_file_bytes);

  void add_series(SeriesId id, const SeriesKey& key, std::string_view unit);
  void add_samples(std::span<const SeriesSample> samples);
  void add_late(std::uint64_t number, std::span<const SeriesSample> samples);
  void add_erase(std::uint64_t number, TimeRange range, std::span<const SeriesId> ids);
  void add_forget(std::uint64_t number, std::span<const SeriesId> ids);

  /// Hands it to the operating system. After a failure the file ends where it did before and nothing waits any more.
  Result<void> commit();
  /// Waits until the disk has it.
  Result<void> sync();
  /// Ends the current file and begins the next.
  Result<void> rotate();

  std::uint32_t file_number() const { return number_; }
  bool full() const { return written_ >= max_file_bytes_; }

 private:
  HeadLogWriter(fs::path folder, std::uint64_t max_file_bytes)
      : folder_(std::move(folder)), max_file_bytes_(max_file_bytes) {}
  Result<void> begin_file(std::uint32_t number);
  template <typename Payload>
  void add_frame(LogKind kind, Payload payload);

  fs::path folder_;
  std::uint64_t max_file_bytes_;
  FileDescriptor file_;
  std::uint32_t number_ = 0;
  std::uint64_t written_ = 0;  ///< bytes in the current file
  std::string buffer_;
  bool unsynced_ = false;
};

}  // namespace assay
