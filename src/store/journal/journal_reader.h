#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/result.h"
#include "store/journal/journal.h"
#include "store/journal/journal_owner.h"

namespace assay {

struct FrameView;

/// The bytes of one journal, wherever they are.
class JournalBytes {
 public:
  virtual ~JournalBytes() = default;
  /// How many there are now.
  virtual Result<std::uint64_t> size() = 0;
  /// Up to `length` bytes at `offset`; fewer only where the journal ends.
  virtual Result<std::string> read_at(std::uint64_t offset, std::size_t length) = 0;
};

/// A journal that is in memory as a whole.
class JournalInMemory final : public JournalBytes {
 public:
  /// `bytes` must outlive it.
  explicit JournalInMemory(const std::string& bytes) : bytes_(bytes) {}
  Result<std::uint64_t> size() override { return bytes_.size(); }
  Result<std::string> read_at(std::uint64_t offset, std::size_t length) override {
    return offset < bytes_.size() ? bytes_.substr(offset, length) : std::string();
  }

 private:
  const std::string& bytes_;
};

/// Reads one journal, also while somebody appends to it. The bytes may come from anywhere.
class JournalReader {
 public:
  /// `name` stands for the journal in messages about damage. `bytes` must outlive it.
  JournalReader(JournalBytes& bytes, std::string name) : bytes_(bytes), name_(std::move(name)) {}

  /// Shows the visitor every whole frame from offset `from` on, as far as the journal reaches at the time of the call.
  /// Returns the offset after the last one shown (or skipped as damaged).
  Result<std::uint64_t> read(std::uint64_t from, JournalOwner owner, JournalVisitor& visitor);

  /// Where the last whole group of a journal of groups ends; what is behind that was never finished.
  Result<std::uint64_t> end_of_groups();

 private:
  struct Series {
    SeriesKey key;
    std::string unit;
  };

  Result<std::string_view> peek(std::uint64_t offset, std::size_t length);
  Result<FrameView> frame_at(std::uint64_t offset);
  Result<std::uint64_t> next_frame(std::uint64_t offset);
  Result<void> show(const FrameView& frame, std::uint64_t offset, JournalVisitor& visitor);
  Result<void> show_group(std::string_view payload, std::uint64_t offset, JournalVisitor& visitor);
  Result<void> show_points(std::string_view payload, JournalVisitor& visitor);
  Result<void> define_series(std::uint64_t offset, std::string_view payload);
  Result<void> look_up_series(std::uint64_t offset);

  JournalBytes& bytes_;
  std::string name_;
  std::uint64_t end_ = 0;  ///< how far this reading goes
  bool ended_ = false;     ///< the end mark was the last that was shown
  std::string window_;     ///< the part of the journal that is in memory
  std::uint64_t window_offset_ = 0;
  static constexpr std::size_t kMostKnownSeries = 100'000;
  std::unordered_map<std::uint64_t, Series> series_;  ///< by the offset of their definition
};

/// How many of the first bytes of `piece`, which stand at `offset` of a journal, are whole and undamaged frames of it.
std::size_t whole_frames(std::string_view piece, std::uint64_t offset);

}  // namespace assay
