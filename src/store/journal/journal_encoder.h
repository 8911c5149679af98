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
#include "store/journal/journal_frames.h"
#include "store/journal/series_tally.h"

namespace assay {

/// Turns what a run records into the frames of a journal (journal_frames.h). It writes nothing anywhere: whoever has it
/// takes the frames from time to time. One thread.
class JournalEncoder {
 public:
  JournalEncoder() = default;
  /// For a journal of groups, each closed by a mark: what stands between two marks counts as a whole or not at all.
  /// `offset`: how long the journal is already; what is in it is told with `count_points`.
  static JournalEncoder of_groups(std::uint64_t offset);

  /// An event longer than a frame can hold (16 MiB) is an error of kind `usage`.
  Result<void> add_event(WallTime time, std::string_view event);
  /// Announces a series; the same key gives the same handle again.
  SeriesHandle open_series(const SeriesKey& key, std::string_view unit);
  void add_points(SeriesHandle series, std::span<const SeriesPoint> points);
  void add_output(OutputStream stream, WallTime time, std::string_view bytes);

  /// Points that an earlier encoder has added: they belong into the summaries.
  void count_points(const SeriesKey& key, std::string_view unit, std::span<const SeriesPoint> points);

  /// Points are in no frame until a chunk of them is full, or this is called.
  void close_chunks();
  /// Nothing comes after it, but for the mark that closes its group.
  void add_end_mark();
  /// Closes the group of everything added since the last one. One that would be longer than a frame can be (16 MiB) is
  /// an error of kind `usage`.
  Result<void> add_mark(std::string_view mark);
  bool in_groups() const { return in_groups_; }

  /// Whole frames that nobody has taken yet, and where in the journal they belong. With groups: once a mark was added.
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

  std::size_t begin(FrameKind kind);
  void seal(std::size_t start) { seal_frame(frames_, start, taken_ + start); }
  void add_definition(Series& series);
  void add_chunk(Series& series);

  bool in_groups_ = false;
  std::string frames_;
  std::uint64_t taken_ = 0;
  std::vector<Series> series_;
  std::map<SeriesKey, SeriesHandle> handles_;
};

}  // namespace assay
