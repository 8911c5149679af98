#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>

#include "base/clock.h"
#include "base/files.h"
#include "sharing/load_frame.h"

namespace assay {

/// One TCP connection between the coordinator of a load and another client. One thread reads (`pump`, `next`,
/// `receive`), one sends; they may be two. A peer whose machine has gone is noticed after half a minute.
class LoadLink {
 public:
  /// A connected socket. Says its preamble at once.
  LoadLink(FileDescriptor socket, LinkEnd end, const LoadKey& secret);

  int fd() const { return socket_.get(); }

  /// Reads what is there, without waiting. Errors: `lost_peer`, the connection has ended.
  Result<void> pump();
  /// The next frame of what was read. Errors: `denied`, `unsupported`, see `FrameReader`.
  Result<std::optional<LoadFrame>> next();
  /// Both, waiting so long for a frame. Nothing: there was none, somebody asked to stop, or the connection has
  /// just become open.
  Result<std::optional<LoadFrame>> receive(Nanos patience, const std::stop_token& stopping = {});

  /// Whether the other end's preamble was read, before which nothing can be sent.
  bool is_open() const { return writer_.has_value(); }
  /// Blocks while the other end does not take it, up to half a minute. Errors: `lost_peer`.
  Result<void> send(FrameType type, std::string_view payload = {});

 private:
  Result<void> send_bytes(std::string_view bytes);

  FileDescriptor socket_;
  LinkEnd end_;
  LoadKey secret_;
  LinkNonce nonce_;
  FrameReader reader_;
  std::optional<FrameWriter> writer_;
  std::optional<Error> broken_;  ///< the preamble could not be sent
};

/// Connects to a coordinator, again and again for so long, since it may not listen yet. Errors: `unreachable`,
/// `interrupted`.
Result<FileDescriptor> connect_to_coordinator(const std::string& host, std::uint16_t port, Nanos patience,
                                              const std::stop_token& stopping);

}  // namespace assay
