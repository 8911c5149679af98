#include "sharing/load_frame.h"

#include <algorithm>

#include "base/assert.h"

namespace assay {
namespace {

constexpr std::size_t kHeadBytes = 5;
constexpr std::size_t kTagBytes = std::tuple_size_v<FrameTag>;
constexpr std::size_t kNameWithoutVersion = 7;

bool is_frame_type(unsigned char type) {
  return type >= static_cast<unsigned char>(FrameType::hello) && type <= static_cast<unsigned char>(FrameType::bye);
}

Error stranger(std::string_view what) { return {.kind = ErrorKind::denied, .message = std::string(what)}; }

}  // namespace

std::string preamble_of(const LinkNonce& nonce) {
  return std::string(kPreambleName) + std::string(reinterpret_cast<const char*>(nonce.data()), nonce.size());
}

std::string FrameWriter::write(FrameType type, std::string_view payload) {
  ASSAY_ASSERT(payload.size() <= kMostPayload);
  std::string bytes;
  bytes.reserve(kHeadBytes + payload.size() + kTagBytes);
  for (int i = 0; i < 4; ++i) bytes += static_cast<char>(payload.size() >> (8 * i));
  bytes += static_cast<char>(type);
  bytes += payload;
  const FrameTag tag = tag_of(link_, static_cast<unsigned char>(writer_), sequence_++, bytes);
  bytes.append(reinterpret_cast<const char*>(tag.data()), tag.size());
  return bytes;
}

Result<std::optional<LinkNonce>> FrameReader::nonce() {
  const std::string_view begun = std::string_view(buffer_).substr(0, kPreambleName.size());
  const std::string_view name = begun.substr(0, kNameWithoutVersion);
  if (name != kPreambleName.substr(0, name.size())) return stranger("it does not speak the protocol of shared loads");
  if (begun.size() == kPreambleName.size() && begun != kPreambleName) {
    return Error{.kind = ErrorKind::unsupported,
                 .message = "it speaks another version of the protocol of shared loads",
                 .hint = "Use the same assay on every client."};
  }
  if (buffer_.size() < kPreambleBytes) return std::optional<LinkNonce>();
  LinkNonce nonce;
  std::copy_n(buffer_.begin() + kPreambleName.size(), nonce.size(), nonce.begin());
  read_ = kPreambleBytes;
  return std::optional(nonce);
}

Result<std::optional<LoadFrame>> FrameReader::next() {
  ASSAY_ASSERT(link_.has_value());
  const std::string_view rest = std::string_view(buffer_).substr(read_);
  if (rest.size() < kHeadBytes) return std::optional<LoadFrame>();
  std::size_t length = 0;
  for (std::size_t i = 0; i < 4; ++i) length |= std::size_t{static_cast<unsigned char>(rest[i])} << (8 * i);
  if (length > kMostPayload) return stranger("it sent a frame that is longer than any");
  const auto type = static_cast<unsigned char>(rest[4]);
  if (!is_frame_type(type)) return stranger("it sent a frame of no known type");
  if (rest.size() < kHeadBytes + length + kTagBytes) return std::optional<LoadFrame>();
  const std::string_view frame = rest.substr(0, kHeadBytes + length);
  const std::string_view tag = rest.substr(frame.size(), kTagBytes);
  const FrameTag expected = tag_of(*link_, static_cast<unsigned char>(writer_), sequence_++, frame);
  if (!same_tag(expected, std::span(reinterpret_cast<const unsigned char*>(tag.data()), tag.size()))) {
    return stranger("it does not know the key of this load");
  }
  LoadFrame found{static_cast<FrameType>(type), std::string(frame.substr(kHeadBytes))};
  read_ += frame.size() + kTagBytes;
  // Not for each frame: moving what is behind it costs as much as reading it.
  if (read_ == buffer_.size() || read_ > kMostPayload) {
    buffer_.erase(0, read_);
    read_ = 0;
  }
  return std::optional(std::move(found));
}

}  // namespace assay
