#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/spool_segment.h"
#include "base/files.h"
#include "base/result.h"
#include "base/units.h"

namespace assay {

struct SpoolOptions {
  fs::path folder;
  Bytes limit{std::int64_t{256} << 20};  ///< of all segments together; at least a segment is always kept
};

struct SpoolCounts {
  std::uint64_t overflowed = 0;  ///< batches that had to make room for newer ones
  std::uint64_t unwritten = 0;   ///< batches that the disk did not take
};

/// Batches of one stream, oldest first.
struct SpooledBatches {
  std::string stream;
  bool simulated = false;
  std::vector<WaitingBatch> batches;
};

/// Keeps batches on the disk, in order, until they are acknowledged: in segment files, so that the oldest can go when
/// there are too many. Survives the death of its process: what was appended is there for the next one. Trouble with
/// the disk is counted and logged once, never an error: telemetry goes on. One thread at a time.
class Spool {
 public:
  /// Finds what earlier processes left. Errors are those of making and listing the folder.
  static Result<Spool> open(SpoolOptions options);

  /// `stream` is where the batch belongs, with every series named so far; only a new segment needs it.
  void append(const SpoolStream& stream, const WaitingBatch& batch);

  /// Whether nothing waits, as far as is known without reading.
  bool empty() const { return segments_.empty(); }
  /// The oldest ones that were not acknowledged: up to `max_bytes` of one segment, at least one. Nothing: none is left.
  std::optional<SpooledBatches> read(std::size_t max_bytes);
  /// What a leader must be told before the batch that `read` gives first.
  SpoolStream stream_at_front();
  /// Those of this stream up to and including `sequence` are not needed any more; only the oldest ones of all are
  /// looked at. Returns how many that were.
  std::size_t acknowledge(std::string_view stream, std::uint64_t sequence);

  std::uint64_t bytes() const { return bytes_; }
  const SpoolCounts& counts() const { return counts_; }

 private:
  struct Segment {
    std::uint32_t number = 0;
    std::uint64_t size = 0;
  };

  explicit Spool(SpoolOptions options);
  fs::path path_of(std::uint32_t number) const;
  bool begin_segment(const SpoolStream& stream);
  bool write(std::string_view frames);
  void note_unwritten(const Error& error);
  void make_room(std::uint64_t bytes);
  std::uint64_t count_left(const Segment& segment);
  SegmentReader* front_reader();
  void drop_front();

  SpoolOptions options_;
  std::uint64_t segment_bytes_;
  std::deque<Segment> segments_;  ///< oldest first
  std::uint64_t bytes_ = 0;
  std::uint32_t next_number_ = 1;
  FileDescriptor file_;                  ///< of the last segment, if this process writes it
  std::optional<SegmentReader> reader_;  ///< of the first segment; stands behind what was acknowledged
  SpoolCounts counts_;
  bool said_full_ = false;
  bool said_unwritten_ = false;
};

}  // namespace assay
