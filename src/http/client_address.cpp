#include "http/client_address.h"

#include "base/text.h"
#include "net/http_message.h"

namespace assay {
namespace {

constexpr std::size_t kLongestAddress = 64;

}  // namespace

std::string client_address(const HttpRequest& request, bool behind_proxy) {
  if (!behind_proxy || !request.peer.loopback) return request.peer.host;
  const auto forwarded = request.headers.find("X-Forwarded-For");
  if (!forwarded) return request.peer.host;
  // The last one is what the proxy itself has seen; those before it are the client's own words.
  const std::string_view last = trim(split(*forwarded, ',').back());
  if (last.empty() || last.size() > kLongestAddress) return request.peer.host;
  return printable(last);
}

bool came_by_tls(const HttpRequest& request, bool behind_proxy) {
  if (request.tls) return true;
  return behind_proxy && request.peer.loopback && request.headers.find("X-Forwarded-Proto") == "https";
}

std::string_view cookie_of(const HttpRequest& request, std::string_view name) {
  const auto field = request.headers.find("Cookie");
  if (!field) return {};
  for (std::string_view pair : split(*field, ';')) {
    pair = trim(pair);
    const auto equals = pair.find('=');
    if (equals != std::string_view::npos && pair.substr(0, equals) == name) return pair.substr(equals + 1);
  }
  return {};
}

}  // namespace assay
