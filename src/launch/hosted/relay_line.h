#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace assay {

// How a job's folder travels through one pipe of text: the channel of an ssh, the log of a container. Each piece is a
// line of its own,
//
//   @assay out 4096 :loss=0.12\n            stream, where the bytes stand in it, the bytes as escaped text
//   @assay host+ 0 =eyJob3N0Ijoi…           the beginning of a record in base64; the line without the plus ends it
//
// of at most `kLongestRelayLine` bytes, since container logs break longer ones. Lines that begin otherwise are somebody
// else's (a login banner, a shell's greeting) and are passed over.

inline constexpr std::size_t kLongestRelayLine = 8192;
/// Bytes of a stream that fit into one line, whatever they are.
inline constexpr std::size_t kMostRelayBytes = 6000;

enum class RelayKind : std::uint8_t {
  out,
  error,
  events,
  readings,  // bytes of a stream; in this order, see `JobStream`
  order,     ///< record: order.json
  host,      ///< record: host.json
  file,      ///< record: path and size of a file that follows
  bytes,     ///< of that file
  ending,    ///< record: ending.json; nothing of the part comes after it
  wish,      ///< record: what the owner wants
  problem,   ///< record: why there is nothing to relay
  alive,     ///< nothing new, but somebody is there
  complete,  ///< that was all of what was to be sent
};

struct RelayFrame {
  RelayKind kind = RelayKind::alive;
  std::uint64_t offset = 0;
  std::string payload;
  bool operator==(const RelayFrame&) const = default;
};

/// One or more whole lines.
std::string relay_lines(const RelayFrame& frame);

/// Finds the frames in a stream of text that may be anything. Not thread-safe.
class RelayReader {
 public:
  using OnFrame = std::function<Result<void>(RelayFrame frame)>;
  explicit RelayReader(OnFrame on_frame) : on_frame_(std::move(on_frame)) {}

  /// The next piece, of any size. An error of the visitor's ends it; a damaged line is `bad_file`.
  Result<void> take(std::string_view text);

 private:
  Result<void> take_line(std::string_view line);

  OnFrame on_frame_;
  std::string line_;      ///< that has not ended yet
  bool foreign_ = false;  ///< it is too long to be one of ours
  std::string record_;    ///< of which more comes
};

}  // namespace assay
