#pragma once

#include <boost/asio/basic_stream_socket.hpp>
#include <boost/asio/generic/stream_protocol.hpp>

#include "base/files.h"
#include "net/io.h"

namespace assay {

/// TCP and Unix sockets alike: one type, compiled once.
using IoSocket = asio::basic_stream_socket<asio::generic::stream_protocol, IoExecutor>;

/// Takes over a connected, non-blocking socket.
IoSocket adopt_socket(const IoExecutor& executor, FileDescriptor socket, int family);
/// Nothing waits to be read, not even the end of the stream.
bool nothing_to_read(IoSocket& socket);

}  // namespace assay
