#include "net/http_message.h"

#include <algorithm>
#include <array>

#include "base/byte_stream.h"

namespace assay {
namespace {

const std::string* find_value(const NamedValues& values, std::string_view name) {
  for (const auto& [key, value] : values) {
    if (key == name) return &value;
  }
  return nullptr;
}

struct StatusName {
  int status;
  std::string_view name;
};

constexpr std::array kStatusNames = {
    StatusName{100, "Continue"},
    StatusName{200, "OK"},
    StatusName{201, "Created"},
    StatusName{202, "Accepted"},
    StatusName{204, "No Content"},
    StatusName{206, "Partial Content"},
    StatusName{301, "Moved Permanently"},
    StatusName{302, "Found"},
    StatusName{303, "See Other"},
    StatusName{304, "Not Modified"},
    StatusName{307, "Temporary Redirect"},
    StatusName{308, "Permanent Redirect"},
    StatusName{400, "Bad Request"},
    StatusName{401, "Unauthorized"},
    StatusName{403, "Forbidden"},
    StatusName{404, "Not Found"},
    StatusName{405, "Method Not Allowed"},
    StatusName{406, "Not Acceptable"},
    StatusName{408, "Request Timeout"},
    StatusName{409, "Conflict"},
    StatusName{410, "Gone"},
    StatusName{411, "Length Required"},
    StatusName{412, "Precondition Failed"},
    StatusName{413, "Content Too Large"},
    StatusName{414, "URI Too Long"},
    StatusName{415, "Unsupported Media Type"},
    StatusName{416, "Range Not Satisfiable"},
    StatusName{417, "Expectation Failed"},
    StatusName{422, "Unprocessable Content"},
    StatusName{429, "Too Many Requests"},
    StatusName{431, "Request Header Fields Too Large"},
    StatusName{500, "Internal Server Error"},
    StatusName{501, "Not Implemented"},
    StatusName{502, "Bad Gateway"},
    StatusName{503, "Service Unavailable"},
    StatusName{504, "Gateway Timeout"},
    StatusName{505, "HTTP Version Not Supported"},
};

}  // namespace

std::optional<std::string_view> HttpRequest::query_value(std::string_view name) const {
  const std::string* value = find_value(query, name);
  return value ? std::optional<std::string_view>(*value) : std::nullopt;
}

std::string_view HttpRequest::capture(std::string_view name) const {
  const std::string* value = find_value(captured, name);
  return value ? std::string_view(*value) : std::string_view();
}

HttpResponse HttpResponse::text(int status, std::string body) {
  return {.status = status, .headers = {{"Content-Type", "text/plain; charset=utf-8"}}, .body = std::move(body)};
}

HttpResponse HttpResponse::json(int status, std::string body) {
  return {.status = status, .headers = {{"Content-Type", "application/json"}}, .body = std::move(body)};
}

HttpResponse HttpResponse::pulled(std::shared_ptr<ByteSource> source, std::string content_type) {
  HttpResponse response;
  response.headers.add("Content-Type", std::move(content_type));
  response.body_source = std::move(source);
  return response;
}

HttpResponse HttpResponse::streaming(std::shared_ptr<ResponseStream> stream, std::string content_type) {
  HttpResponse response;
  response.headers.add("Content-Type", std::move(content_type));
  response.headers.add("Cache-Control", "no-store");
  response.stream = std::move(stream);
  return response;
}

std::string_view reason_phrase(int status) {
  for (const auto& entry : kStatusNames) {
    if (entry.status == status) return entry.name;
  }
  return "Unknown";
}

}  // namespace assay
