#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "sharing/load_key.h"

namespace assay {

// The bytes between the clients of one load. Each end begins with a preamble: eight bytes that name protocol and
// version, and 32 random ones. Then frames: four bytes of length (of the payload, little-endian), one of type, the
// payload, a tag of 16 bytes. Pure.

inline constexpr std::string_view kPreambleName = "ASYLOAD1";  ///< the digit is the version
inline constexpr std::size_t kPreambleBytes = 8 + 32;
inline constexpr std::size_t kMostPayload = std::size_t{1} << 20;

/// Which way; to_client is what the coordinator says. The numbers are on the wire.
enum class FrameType : std::uint8_t {
  hello = 1,     ///< from a client: who it is, JSON
  welcome = 2,   ///< to_client: it is in; JSON
  refuse = 3,    ///< to_client: it is not; the reason in words
  load = 4,      ///< to_client: get ready for a load; JSON
  ready = 5,     ///< from a client: its target is
  failed = 6,    ///< from a client: it cannot; JSON
  ping = 7,      ///< to_client: what time is it?
  pong = 8,      ///< from a client: so many nanoseconds of its clock
  start = 9,     ///< to_client: the start, in nanoseconds of the client's clock
  stop = 10,     ///< to_client: end the load now
  figures = 11,  ///< from a client: the last second; JSON
  records = 12,  ///< from a client, after the load
  tokens = 13,
  texts = 14,
  facts = 15,  ///< what its target says of itself: JSON, in pieces
  done = 16,   ///< from a client: that was all; JSON
  bye = 17,    ///< to_client: there is no further load
};

struct LoadFrame {
  FrameType type = FrameType::bye;
  std::string payload;
};

/// Which end of a connection wrote something.
enum class LinkEnd : unsigned char { coordinator, client };

std::string preamble_of(const LinkNonce& nonce);

/// Puts frames into bytes, each with the tag that belongs to it and to its place.
class FrameWriter {
 public:
  FrameWriter(const LoadKey& link, LinkEnd writer) : link_(link), writer_(writer) {}
  /// The payload at most `kMostPayload`.
  std::string write(FrameType type, std::string_view payload);

 private:
  LoadKey link_;
  LinkEnd writer_;
  std::uint64_t sequence_ = 0;
};

/// Takes bytes as they come and gives what the other end said: first its nonce, then frames. After an error nothing
/// else can be read.
class FrameReader {
 public:
  explicit FrameReader(LinkEnd writer) : writer_(writer) {}

  void feed(std::string_view bytes) { buffer_.append(bytes); }
  /// The other end's nonce, once it has come. Errors: `unsupported` (another version), `denied` (something else).
  Result<std::optional<LinkNonce>> nonce();
  /// From here on frames are read; after `nonce`.
  void use(const LoadKey& link) { link_ = link; }
  /// The next frame, once it is complete. Errors, of kind `denied`: longer than any frame, of no known type, with the
  /// tag of somebody who does not know the key.
  Result<std::optional<LoadFrame>> next();

 private:
  LinkEnd writer_;
  std::string buffer_;
  std::size_t read_ = 0;  ///< of the buffer
  std::optional<LoadKey> link_;
  std::uint64_t sequence_ = 0;
};

}  // namespace assay
