#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/files.h"
#include "base/result.h"
#include "bytes/frame.h"
#include "store/store.h"

namespace assay {

/// What is known of the process that writes a journal; decides what an unfinished end of the file means.
enum class JournalOwner {
  live,      ///< a frame that is not whole is not written yet: left for the next reading, without a word
  gone,      ///< such a frame is damage
  finished,  ///< and so is a missing end mark
};

/// Reads one journal file (frame.h has the format), also while another process appends to it.
class JournalReader {
 public:
  /// `name` stands for the file in messages about damage.
  static Result<JournalReader> open(const fs::path& path, std::string name);

  /// Shows the visitor every whole frame from offset `from` on, as far as the file reaches at the time of the call.
  /// Returns the offset after the last one shown (or skipped as damaged).
  Result<std::uint64_t> read(std::uint64_t from, JournalOwner owner, JournalVisitor& visitor);

 private:
  struct Series {
    SeriesKey key;
    std::string unit;
  };

  JournalReader(FileDescriptor file, std::string name) : file_(std::move(file)), name_(std::move(name)) {}
  Result<std::string> read_at(std::uint64_t offset, std::size_t length);
  Result<std::string_view> peek(std::uint64_t offset, std::size_t length);
  Result<FrameView> frame_at(std::uint64_t offset);
  Result<std::uint64_t> next_frame(std::uint64_t offset);
  Result<void> show(const FrameView& frame, std::uint64_t offset, JournalVisitor& visitor);
  Result<void> show_points(std::string_view payload, JournalVisitor& visitor);
  Result<void> define_series(std::uint64_t offset, std::string_view payload);
  Result<void> look_up_series(std::uint64_t offset);

  FileDescriptor file_;
  std::string name_;
  std::uint64_t end_ = 0;  ///< how far this reading goes
  std::string window_;     ///< the part of the file that is in memory
  std::uint64_t window_offset_ = 0;
  std::unordered_map<std::uint64_t, Series> series_;  ///< by the offset of their definition
};

}  // namespace assay
