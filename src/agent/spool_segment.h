#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "base/result.h"
#include "protocol/batch.h"

namespace assay {

// A segment of the spool is a file of frames (bytes/frame.h) with batches of one stream. It begins with all that
// somebody who has never heard of the stream needs: its id and every series named so far. The place that a frame's
// checksum covers is the number of the segment and the frame's offset in it.
enum class SpoolFrame : std::uint8_t {
  begin = 1,  ///< mark, version, flags (1: simulated), then a batch without samples that names every series
  batch = 2,  ///< sequence (varint), then the encoded batch
};

/// What a segment begins with.
struct SpoolStream {
  std::string id;
  bool simulated = false;
  std::vector<SeriesName> names;
  std::optional<std::vector<DeviceFacts>> devices;  ///< the last that were named
};

/// A batch on its way, encoded.
struct WaitingBatch {
  std::uint64_t sequence = 0;
  std::string bytes;
};

/// Appends whole frames for segment `number`, which has `offset` bytes before them, to `out`.
void put_begin_frame(std::string& out, std::uint32_t number, const SpoolStream& stream);
void put_batch_frame(std::string& out, std::uint32_t number, std::uint64_t offset, const WaitingBatch& batch);

/// Goes through a segment that may be damaged or cut off anywhere: what is whole is found. Sees what is appended while
/// it reads. One thread at a time.
class SegmentReader {
 public:
  static Result<SegmentReader> open(const fs::path& path, std::uint32_t number);

  /// What the segment begins with; nothing if that is damaged: then the rest is of no use.
  const std::optional<SpoolStream>& stream() const { return stream_; }

  /// The next batch; nothing at the end.
  std::optional<WaitingBatch> next();

  std::uint64_t position() const { return position_; }
  /// Goes on at what `position` once gave.
  void seek(std::uint64_t position) { position_ = position; }
  std::uint64_t damaged_bytes() const { return damaged_bytes_; }

 private:
  SegmentReader(FileDescriptor file, std::uint32_t number) : file_(std::move(file)), number_(number) {}
  struct Frame {
    SpoolFrame kind;
    std::string_view payload;  ///< until the next call
  };
  std::optional<Frame> next_frame();
  bool skip_damage();
  std::string_view bytes_at_position(std::size_t wanted);
  void read_begin();

  FileDescriptor file_;
  std::uint32_t number_;
  std::optional<SpoolStream> stream_;
  std::uint64_t position_ = 0;
  std::string buffer_;
  std::uint64_t buffer_at_ = 0;
  std::uint64_t damaged_bytes_ = 0;
};

/// The stream as it stood when the batch before `end` was made: what the segment begins with, and what its batches
/// before `end` have named since. Reads them all.
SpoolStream stream_before(SegmentReader& reader, std::uint64_t end);

/// `batch` with every series of the stream named in it, and its devices, for a leader that knows none of them. Bytes
/// that are no batch come back as they are.
std::string with_all_names(const std::string& batch, const SpoolStream& stream);

}  // namespace assay
