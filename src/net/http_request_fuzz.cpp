// libFuzzer entry: whatever bytes a client sends, the server answers in HTTP, comes to an end, and decides the same
// however the bytes were cut into pieces.
#include <boost/asio/co_spawn.hpp>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <memory>
#include <string>
#include <string_view>

#include "net/memory_stream_fixture.h"
#include "net/response_stream.h"
#include "net/server_connection.h"

namespace {

using namespace assay;

constexpr std::size_t kLongestInput = 4096;

/// Gives a text and once more the same.
class Twice : public ByteSource {
 public:
  explicit Twice(std::string text) : text_(std::move(text)) {}
  Result<std::optional<std::string>> next() override { return given_++ < 2 ? std::optional(text_) : std::nullopt; }

 private:
  std::string text_;
  int given_ = 0;
};

/// Made once: routes and limits do not change, and a context costs more than an input.
struct TestServer {
  TestServer();
  ServerShared shared{{.header_bytes = 512, .target_bytes = 128, .body_bytes = 256}};
  WorkerPools workers{{.workers = 1, .stream_workers = 1}};  ///< who reads a body while it arrives needs a thread
  asio::io_context context{1};
};

TestServer::TestServer() {
  const auto size_of_body = [](const HttpRequest& request) {
    for (const auto& [name, value] : request.headers) {
      if (name.empty() || (name + value).find_first_of("\r\n") != std::string::npos) std::abort();
    }
    if (request.body.size() > 256 || request.path.find('\0') != std::string::npos) std::abort();
    return HttpResponse::text(200, std::to_string(request.body.size()));
  };
  const RouteOptions at_once{.run_on = RunOn::io_thread};
  shared.workers = &workers;
  shared.pieces.limit = 100;
  shared.router.get("/", size_of_body, at_once);
  shared.router.get("/a/{b}/{c...}", size_of_body, at_once);
  shared.router.post("/p", size_of_body, at_once);
  shared.router.get(
      "/s",
      [](const HttpRequest&) {
        auto stream = std::make_shared<ResponseStream>();
        stream->write("piece");
        stream->finish();
        return HttpResponse::streaming(stream, "text/plain");
      },
      at_once);
  const RouteOptions streamed{.body_bytes = 256, .stream_body = true};
  shared.router.post("/r", [](const HttpRequest&) { return HttpResponse::text(403, "unread"); }, streamed);
  shared.router.post(
      "/u",
      [](const HttpRequest& request) {
        std::string body;
        const auto taken = pour(*request.body_source, [&](std::string_view piece) {
          body += piece;
          return Result<void>();
        });
        if (body.size() > 256 || (taken && *taken != body.size())) std::abort();
        return HttpResponse::pulled(std::make_shared<Twice>(std::move(body)), "text/plain");
      },
      streamed);
}

/// The statuses of all answers, in order; interim ones depend on timing and do not count.
std::string statuses(std::string_view input, std::size_t piece) {
  static TestServer server;
  asio::io_context& context = server.context;
  context.restart();
  std::string written;
  const auto connection = std::make_shared<ServerConnection>(
      server.shared, std::make_unique<MemoryStream>(context.get_executor(), input, piece, written), PeerAddress{},
      false);
  asio::co_spawn(context, connection->run(), [](const std::exception_ptr& problem) {
    if (problem) std::abort();
  });
  context.run();
  if (!written.empty() && !written.starts_with("HTTP/1.1 ")) std::abort();
  // Whatever came, a connection that is over holds nothing of what all have together.
  ServerShared& shared = server.shared;
  for (const auto& [caller, requests] : shared.requests_of) {
    if (requests != 0) std::abort();
  }
  shared.requests_of.clear();
  if (shared.bodies.taken() != 0 || shared.unsent_bytes != 0 || shared.pieces.taken() != 0) std::abort();
  std::string found;
  for (auto at = written.find("HTTP/1.1 "); at != std::string::npos; at = written.find("HTTP/1.1 ", at + 1)) {
    std::string status = written.substr(at + 9, 3);
    // A chunk that is malformed and too large is refused for what is seen first.
    if (status == "413") status = "400";
    if (status != "100") found += status + ' ';
  }
  return found;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > kLongestInput) return 0;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::string whole = statuses(input, kLongestInput);
  if (whole != statuses(input, 1) || whole != statuses(input, 7)) std::abort();
  return 0;
}
