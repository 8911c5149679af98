#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace assay {

// Journals and logs are sequences of frames and nothing else:
//
//   magic (4) · CRC-32C (4) · payload length (4) · kind (1) · payload        numbers are little-endian
//
// The checksum covers the frame's offset in the file, then length, kind and payload. With the offset in it a frame is
// valid at its own place only: a workload that prints somebody's journal cannot plant frames in ours. What the kinds
// mean is up to the file: store/local/journal_frames.h, store/series/head_log.h.

constexpr std::string_view kFrameMagic =
    "\xA5"
    "AJ\x01";
constexpr std::size_t kFrameHeader = 13;
/// A longer length is damage. Bounds the memory of a reader.
constexpr std::size_t kMaxPayload = std::size_t{16} << 20;

/// Starts a frame at the end of `buffer`; the caller appends the payload and then seals it.
inline void begin_frame(std::string& buffer, std::uint8_t kind) {
  buffer.append(kFrameMagic);
  buffer.append(8, '\0');
  buffer.push_back(static_cast<char>(kind));
}

/// Fills in length and checksum of the frame that starts at `start` and reaches to the end of `buffer`.
void seal_frame(std::string& buffer, std::size_t start, std::uint64_t file_offset);

/// What stands at one place of a file.
struct FrameView {
  enum class Status {
    whole,
    incomplete,  ///< looks like a frame, but the bytes end before it does
    damaged,
  };
  Status status = Status::damaged;
  std::uint8_t kind = 0;
  std::string_view payload;

  std::size_t size() const { return kFrameHeader + payload.size(); }
};

/// Looks at the header only. `length` is the payload's, where the status is `whole`.
struct FrameHeader {
  FrameView::Status status = FrameView::Status::damaged;
  std::size_t length = 0;
};
FrameHeader look_at_header(std::string_view bytes);

/// Checks the frame that `bytes` begin with, which stand at `file_offset`.
FrameView look_at_frame(std::string_view bytes, std::uint64_t file_offset);

}  // namespace assay
