#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/series_summary.h"
#include "store/journal/journal.h"
#include "store/journal/series_tally.h"

namespace assay {

/// Turns what a run records into the frames of a journal (journal_frames.h). It writes nothing anywhere: whoever has it
/// takes the frames from time to time. One thread.
class JournalEncoder {
 public:
  /// An event longer than a frame can hold (16 MiB) is an error of kind `usage`.
  Result<void> add_event(WallTime time, std::string_view event);
  /// Announces a series; the same key gives the same handle again.
  SeriesHandle open_series(const SeriesKey& key, std::string_view unit);
  void add_points(SeriesHandle series, std::span<const SeriesPoint> points);
  void add_output(OutputStream stream, WallTime time, std::string_view bytes);

  /// Points are in no frame until a chunk of them is full, or this is called.
  void close_chunks();
  /// Nothing comes after it.
  void add_end_mark();

  /// Whole frames that nobody has taken yet, and where in the journal they belong.
  const std::string& frames() const { return frames_; }
  std::uint64_t offset() const { return taken_; }
  /// They are where they belong.
  void drop_frames();

  /// Of every series that has points.
  std::vector<SeriesSummary> summaries() const;

 private:
  struct Series {
    SeriesKey key;
    std::string unit;
    std::optional<std::uint64_t> defined_at;  ///< offset of its definition, once there is one
    std::vector<SeriesPoint> waiting;
    SeriesTally tally;
  };

  std::uint64_t next_offset() const { return taken_ + frames_.size(); }
  void add_definition(Series& series);
  void add_chunk(Series& series);

  std::string frames_;
  std::uint64_t taken_ = 0;
  std::vector<Series> series_;
  std::map<SeriesKey, SeriesHandle> handles_;
};

}  // namespace assay
