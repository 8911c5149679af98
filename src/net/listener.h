#pragma once

#include <cstddef>
#include <string>

#include "base/files.h"
#include "base/result.h"
#include "net/http_message.h"
#include "net/listen_address.h"

namespace assay {

/// A socket that accepts connections. A Unix socket's file has mode 0600, and goes with this object.
class Listener {
 public:
  /// Binds and listens. A host name is looked up (blocks). Errors: `busy` (address in use), `denied`, `usage`
  /// (no such address here), each with what to do. A Unix socket that nobody answers at is replaced.
  static Result<Listener> open(const ListenAddress& address);

  Listener(Listener&&) = default;
  Listener& operator=(Listener&&) = delete;
  ~Listener();

  int fd() const { return fd_.get(); }
  /// Where it really listens: the port is the one that was given to us for port 0.
  const ListenAddress& address() const { return address_; }

  struct Accepted {
    FileDescriptor fd;  ///< non-blocking
    PeerAddress peer;
    int family = 0;
  };
  /// The next connection, without waiting. The value of `errno` in place of a connection.
  struct Outcome {
    Accepted connection;
    int error = 0;  ///< EAGAIN: none is waiting
  };
  Outcome accept() const;

 private:
  Listener(FileDescriptor fd, ListenAddress address) : fd_(std::move(fd)), address_(std::move(address)) {}
  static Result<Listener> open_tcp(const ListenAddress& address);
  static Result<Listener> open_unix(const ListenAddress& address);

  FileDescriptor fd_;
  ListenAddress address_;
};

/// Raises the limit of open files of this process as far as it is allowed to; the limit that holds now.
Result<std::size_t> raise_file_limit();

/// How many connections a server may have where so many files can be open: 256 are for everything else, as long as 64
/// are left, and never more than `wanted`.
std::size_t connections_within(std::size_t open_files, std::size_t wanted);

}  // namespace assay
