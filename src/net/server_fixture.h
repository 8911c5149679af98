#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "net/http_server.h"
#include "net/raw_connection_fixture.h"
#include "net/router.h"

namespace assay {

/// For tests: a server on a free port of loopback.
inline std::unique_ptr<HttpServer> start_server(Router router, ServerOptions options = {}) {
  if (options.listen.empty()) options.listen.push_back({.host = "127.0.0.1"});
  auto server = HttpServer::start(std::move(options), std::move(router));
  EXPECT_TRUE(server.ok()) << (server.ok() ? "" : server.error().text());
  return server.ok() ? std::move(*server) : nullptr;
}

inline std::uint16_t port_of(const HttpServer& server) { return server.addresses().front().port; }

/// Sends bytes on a new connection and reads until the server closes it.
inline std::string answer_of(const HttpServer& server, std::string_view bytes) {
  RawConnection connection(port_of(server));
  connection.send(bytes);
  const std::string answer = connection.read_all();
  EXPECT_TRUE(connection.closed()) << "the server has kept the connection open after: " << bytes;
  return answer;
}

/// A plain GET that asks the server to close afterwards.
inline std::string get_and_close(std::string_view path) {
  return "GET " + std::string(path) + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
}

/// For routes whose callers are whoever they say they are.
inline Admission admit_by_name(const HttpRequest& head) {
  return {.caller = std::string(head.headers.find("Who").value_or(""))};
}

}  // namespace assay
