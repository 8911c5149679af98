#include "bytes/frame.h"

#include <algorithm>

#include "base/assert.h"
#include "bytes/crc32c.h"
#include "bytes/varint.h"

namespace assay {
namespace {

constexpr std::size_t kCrcAt = 4;
constexpr std::size_t kLengthAt = 8;
constexpr std::size_t kKindAt = 12;

void store32(std::string& buffer, std::size_t at, std::uint32_t number) {
  for (unsigned i = 0; i < 4; ++i) buffer[at + i] = static_cast<char>(number >> (8 * i));
}

std::uint32_t load32(std::string_view bytes, std::size_t at) {
  return static_cast<std::uint32_t>(ByteReader(bytes.substr(at)).fixed(4));
}

/// `frame` reaches from its magic to the end of its payload.
std::uint32_t checksum(std::string_view frame, std::uint64_t file_offset) {
  char place[8];
  for (unsigned i = 0; i < 8; ++i) place[i] = static_cast<char>(file_offset >> (8 * i));
  return crc32c(frame.substr(kLengthAt), crc32c({place, sizeof place}));
}

}  // namespace

void seal_frame(std::string& buffer, std::size_t start, std::uint64_t file_offset) {
  const std::size_t length = buffer.size() - start - kFrameHeader;
  ASSAY_ASSERT(length <= kMaxPayload);
  store32(buffer, start + kLengthAt, static_cast<std::uint32_t>(length));
  store32(buffer, start + kCrcAt, checksum(std::string_view(buffer).substr(start), file_offset));
}

FrameHeader look_at_header(std::string_view bytes) {
  using Status = FrameView::Status;
  const auto magic = bytes.substr(0, kFrameMagic.size());
  if (magic != kFrameMagic.substr(0, magic.size())) return {Status::damaged};
  if (bytes.size() < kFrameHeader) return {Status::incomplete};
  const std::size_t length = load32(bytes, kLengthAt);
  if (length > kMaxPayload) return {Status::damaged};
  return {Status::whole, length};
}

FrameView look_at_frame(std::string_view bytes, std::uint64_t file_offset) {
  using Status = FrameView::Status;
  const auto header = look_at_header(bytes);
  if (header.status != Status::whole) return {header.status};
  if (bytes.size() - kFrameHeader < header.length) return {Status::incomplete};
  const auto frame = bytes.substr(0, kFrameHeader + header.length);
  if (checksum(frame, file_offset) != load32(frame, kCrcAt)) return {Status::damaged};
  return {Status::whole, static_cast<std::uint8_t>(frame[kKindAt]), frame.substr(kFrameHeader)};
}

}  // namespace assay
