#include "dashboard/dashboard_routes.h"

#include <algorithm>

#include "net/http_message.h"
#include "net/router.h"

namespace assay {
namespace {

// Nothing but our own files; no script or style inside the page; nobody may frame it. `blob:` is for the pictures that
// charts are saved as.
constexpr const char* kPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; font-src 'self'; connect-src "
    "'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

constexpr const char* kMissing =
    "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>Assay</title>\n"
    "<h1>The dashboard is not in this program</h1>\n"
    "<p>This <code>assay</code> was built without Node 18 or newer and npm. Everything else works: <code>assay "
    "top</code>, "
    "<code>assay runs</code> and the <a href=\"api/v1/openapi.json\">API</a>.</p>\n"
    "<p>Install them (<code>scripts/setup.sh</code> does) and build again.</p></html>\n";

/// Whether a list such as `gzip, br;q=0` names the word without refusing it.
bool accepts(const HttpRequest& request, std::string_view header, std::string_view word) {
  const auto given = request.headers.find(header);
  if (!given) return false;
  const auto at = given->find(word);
  if (at == std::string_view::npos) return false;
  std::string_view rest = given->substr(at + word.size());
  rest = rest.substr(0, rest.find(','));
  const auto quality = rest.find("q=");
  return quality == std::string_view::npos ||
         rest.substr(quality + 2).find_first_of("123456789") != std::string_view::npos;
}

void set_safe(HttpResponse& response) {
  response.headers.set("Content-Security-Policy", kPolicy);
  response.headers.set("X-Content-Type-Options", "nosniff");
  response.headers.set("Referrer-Policy", "no-referrer");
  response.headers.set("Cross-Origin-Opener-Policy", "same-origin");
  response.headers.set("Cross-Origin-Resource-Policy", "same-origin");
}

HttpResponse answer_with(const DashboardFile& file, const HttpRequest& request) {
  HttpResponse response;
  set_safe(response);
  response.headers.set("ETag", std::string(file.etag));
  response.headers.set("Vary", "Accept, Accept-Encoding");
  // Vite puts a hash of the content into these names.
  const bool forever = file.path.starts_with("assets/");
  response.headers.set("Cache-Control", forever ? "public, max-age=31536000, immutable" : "no-cache");
  const auto known = request.headers.find("If-None-Match");
  if (known && known->find(file.etag) != std::string_view::npos) {
    response.status = 304;
    return response;
  }
  if (!accepts(request, "Accept-Encoding", "gzip")) {
    response.status = 406;
    response.headers.set("Content-Type", "text/plain; charset=utf-8");
    response.body = "This file is only there compressed: send `Accept-Encoding: gzip` (curl --compressed).\n";
    return response;
  }
  response.headers.set("Content-Type", std::string(file.type));
  response.headers.set("Content-Encoding", "gzip");
  response.body = file.gzip;
  return response;
}

HttpResponse front_page(const DashboardFile* index, const std::string& welcome, const HttpRequest& request) {
  if (!accepts(request, "Accept", "text/html")) {
    HttpResponse response = HttpResponse::text(200, welcome);
    response.headers.set("Vary", "Accept, Accept-Encoding");
    return response;
  }
  if (index != nullptr) return answer_with(*index, request);
  HttpResponse response = HttpResponse::text(200, kMissing);
  set_safe(response);
  response.headers.set("Content-Type", "text/html; charset=utf-8");
  response.headers.set("Vary", "Accept, Accept-Encoding");
  return response;
}

}  // namespace

void add_dashboard_routes(Router& router, std::span<const DashboardFile> files, std::string welcome) {
  const RouteOptions at_once{.run_on = RunOn::io_thread};
  const auto index =
      std::find_if(files.begin(), files.end(), [](const auto& file) { return file.path == "index.html"; });
  router.get(
      "/",
      [index = index == files.end() ? nullptr : &*index, welcome = std::move(welcome)](const HttpRequest& request) {
        return front_page(index, welcome, request);
      },
      at_once);
  for (const auto& file : files) {
    if (file.path == "index.html") continue;
    router.get(
        "/" + std::string(file.path), [&file](const HttpRequest& request) { return answer_with(file, request); },
        at_once);
  }
}

}  // namespace assay
