#include "net/server_fixture.h"

#include <gtest/gtest.h>

#include <utility>

#include "net/http_message.h"
#include "net/raw_connection_fixture.h"
#include "net/router.h"
#include "net/server_options.h"

namespace assay {

std::unique_ptr<HttpServer> start_server(Router router) { return start_server(std::move(router), {}); }

std::unique_ptr<HttpServer> start_server(Router router, ServerOptions options) {
  if (options.listen.empty()) options.listen.push_back({.host = "127.0.0.1"});
  auto server = HttpServer::start(std::move(options), std::move(router));
  EXPECT_TRUE(server.ok()) << (server.ok() ? "" : server.error().text());
  return server.ok() ? std::move(*server) : nullptr;
}

std::uint16_t port_of(const HttpServer& server) { return server.addresses().front().port; }

std::string answer_of(const HttpServer& server, std::string_view bytes) {
  RawConnection connection(port_of(server));
  connection.send(bytes);
  const std::string answer = connection.read_all();
  EXPECT_TRUE(connection.closed()) << "the server has kept the connection open after: " << bytes;
  return answer;
}

std::string get_and_close(std::string_view path) {
  return "GET " + std::string(path) + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
}

Admission admit_by_name(const HttpRequest& head) {
  return {.caller = std::string(head.headers.find("Who").value_or(""))};
}

}  // namespace assay
