#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "net/http_server.h"

namespace assay {

class Router;
struct Admission;
struct HttpRequest;
struct ServerOptions;

/// For tests: a server on a free port of loopback.
std::unique_ptr<HttpServer> start_server(Router router);
std::unique_ptr<HttpServer> start_server(Router router, ServerOptions options);

std::uint16_t port_of(const HttpServer& server);

/// Sends bytes on a new connection and reads until the server closes it.
std::string answer_of(const HttpServer& server, std::string_view bytes);

/// A plain GET that asks the server to close afterwards.
std::string get_and_close(std::string_view path);

/// For routes whose callers are whoever they say they are.
Admission admit_by_name(const HttpRequest& head);

}  // namespace assay
