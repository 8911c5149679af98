#pragma once

#include <string>
#include <string_view>

namespace assay {

struct HttpRequest;

/// Where a request comes from. Behind a proxy on this machine it is whom the proxy names; anybody else's word about
/// that counts for nothing.
std::string client_address(const HttpRequest& request, bool behind_proxy);
/// Whether it travelled by TLS, as far as whoever serves can tell.
bool came_by_tls(const HttpRequest& request, bool behind_proxy);
/// The value of a cookie; empty: there is none.
std::string_view cookie_of(const HttpRequest& request, std::string_view name);

/// The cookie of who is signed in.
inline constexpr std::string_view kSessionCookie = "assay_session";
/// What a browser adds to requests that change something only if our own page told it to.
inline constexpr std::string_view kCsrfHeader = "X-Assay-Csrf";

}  // namespace assay
