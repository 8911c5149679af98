#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "base/result.h"
#include "store/journal/series_tally.h"
#include "store/store.h"

namespace assay {

/// Writes one journal file (journal_frames.h has the format). One thread at a time.
///
/// Appending costs no system call until a quarter of a megabyte has gathered; `flush` writes everything that was
/// appended. The first failed write sticks: every later call reports it, and the file is cut back to its last whole
/// frame so that what was written stays readable.
class JournalWriter {
 public:
  /// `busy` if the file exists already.
  static Result<JournalWriter> create(const fs::path& path);

  /// An event longer than a frame can hold (16 MiB) is an error of kind `usage` that does not stick.
  Result<void> append_event(WallTime time, std::string_view event);
  SeriesHandle open_series(const SeriesKey& key, std::string_view unit);
  Result<void> append_points(SeriesHandle series, std::span<const SeriesPoint> points);
  Result<void> append_output(OutputStream stream, WallTime time, std::string_view bytes);

  Result<void> flush();
  /// Writes the rest and the end mark, and syncs to the disk. Nothing may be appended afterwards.
  Result<void> finish();

  /// Of every series that has points.
  std::vector<SeriesSummary> summaries() const;
  int descriptor() const { return file_.get(); }

 private:
  struct Series {
    SeriesKey key;
    std::string unit;
    std::optional<std::uint64_t> defined_at;  ///< offset of its definition, once that is written
    std::vector<SeriesPoint> waiting;
    SeriesTally tally;
  };

  explicit JournalWriter(FileDescriptor file) : file_(std::move(file)) {}
  Result<void> appendable() const;
  std::uint64_t next_offset() const { return written_ + buffer_.size(); }
  void put_definition(Series& series);
  void put_chunk(Series& series);
  Result<void> write_if_full();
  Result<void> write_buffer();

  FileDescriptor file_;
  std::string buffer_;         ///< whole frames that are not written yet
  std::uint64_t written_ = 0;  ///< bytes in the file
  std::vector<Series> series_;
  std::map<SeriesKey, SeriesHandle> handles_;
  std::optional<Error> failure_;
};

}  // namespace assay
