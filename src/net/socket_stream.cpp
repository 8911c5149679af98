#include "net/socket_stream.h"

#include <sys/socket.h>

#include <boost/asio/buffer.hpp>
#include <cerrno>

#include "net/stream.h"

namespace assay {
namespace {

class SocketStream final : public Stream {
 public:
  explicit SocketStream(IoSocket socket) : socket_(std::move(socket)) {}

  IoTask<Result<void>> open() override { co_return Result<void>(); }
  IoTask<IoOutcome> read_some(std::span<char> buffer) override {
    return socket_.async_read_some(asio::buffer(buffer.data(), buffer.size()), kAsTask);
  }
  IoTask<IoOutcome> write_some(std::string_view bytes) override {
    return socket_.async_write_some(asio::buffer(bytes.data(), bytes.size()), kAsTask);
  }
  IoTask<void> end_writing() override {
    boost::system::error_code ignored;
    socket_.shutdown(IoSocket::shutdown_send, ignored);
    co_return;
  }
  void cancel() override {
    boost::system::error_code ignored;
    socket_.cancel(ignored);
  }
  void close() override {
    boost::system::error_code ignored;
    socket_.close(ignored);
  }
  bool quiet() override { return nothing_to_read(socket_); }
  IoExecutor executor() override { return socket_.get_executor(); }

 private:
  IoSocket socket_;
};

}  // namespace

IoSocket adopt_socket(const IoExecutor& executor, FileDescriptor socket, int family) {
  IoSocket adopted(executor);
  adopted.assign(asio::generic::stream_protocol(family, 0), socket.release());
  return adopted;
}

bool nothing_to_read(IoSocket& socket) {
  if (!socket.is_open()) return false;
  char byte = 0;
  const ssize_t got = ::recv(socket.native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
}

std::unique_ptr<Stream> make_socket_stream(const IoExecutor& executor, FileDescriptor socket, int family) {
  return std::make_unique<SocketStream>(adopt_socket(executor, std::move(socket), family));
}

IoTask<boost::system::error_code> write_all(Stream& stream, std::string_view bytes) {
  while (!bytes.empty()) {
    const auto [error, written] = co_await stream.write_some(bytes);
    if (error) co_return error;
    bytes.remove_prefix(written);
  }
  co_return boost::system::error_code();
}

}  // namespace assay
