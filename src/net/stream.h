#pragma once

#include <boost/system/error_code.hpp>
#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <tuple>

#include "base/files.h"
#include "base/result.h"
#include "net/io.h"

namespace assay {

/// Error (none: success) and number of bytes.
using IoOutcome = std::tuple<boost::system::error_code, std::size_t>;

/// A two-way connection. Everything happens on the I/O thread of its executor; at most one read and one write at a
/// time. Buffers must live until the operation is over. Virtual, so that the HTTP code is compiled once and not again
/// for plain, encrypted and in-memory connections.
class Stream {
 public:
  virtual ~Stream() = default;

  /// Handshake of TLS; nothing for others. Call first. Errors: `denied` (certificate), `lost_peer`.
  virtual IoTask<Result<void>> open() = 0;
  /// Up to the size of the buffer; the end of the stream is the error `asio::error::eof`.
  virtual IoTask<IoOutcome> read_some(std::span<char> buffer) = 0;
  virtual IoTask<IoOutcome> write_some(std::string_view bytes) = 0;
  /// Says that we shall send no more. The other end may still send.
  virtual IoTask<void> end_writing() = 0;
  /// Operations under way end with `asio::error::operation_aborted`; later ones work.
  virtual void cancel() = 0;
  /// At once, without saying goodbye. Operations under way end with an error.
  virtual void close() = 0;
  /// Nothing was received that nobody has asked for: an idle connection is still usable.
  virtual bool quiet() = 0;
  virtual IoExecutor executor() = 0;
};

/// Takes a connected, non-blocking socket of the given address family.
std::unique_ptr<Stream> make_socket_stream(const IoExecutor& executor, FileDescriptor socket, int family);

/// Writes all of it. The error of the write that failed.
IoTask<boost::system::error_code> write_all(Stream& stream, std::string_view bytes);

}  // namespace assay
