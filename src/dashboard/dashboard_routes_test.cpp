#include "dashboard/dashboard_routes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "net/headers.h"
#include "net/http_message.h"
#include "net/request_target.h"
#include "net/router.h"

namespace assay {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr std::array<DashboardFile, 2> kFiles = {
    DashboardFile{"index.html", "text/html; charset=utf-8", "\"i1\"", "zipped page"},
    DashboardFile{"assets/index-Bk3.js", "text/javascript; charset=utf-8", "\"j1\"", "zipped script"}};

HttpResponse get(const Router& router, const std::string& path, Headers headers) {
  HttpRequest request{.method = "GET", .target = path, .path = path, .headers = std::move(headers)};
  const auto target = parse_request_target(path);
  EXPECT_TRUE(target.ok());
  const auto match = router.match("GET", *target);
  return match.handler ? (*match.handler)(request) : HttpResponse{.status = match.status};
}

Router router_with(std::span<const DashboardFile> files) {
  Router router;
  add_dashboard_routes(router, files, "welcome");
  return router;
}

const Headers kBrowser = {{"Accept", "text/html,application/xhtml+xml"}, {"Accept-Encoding", "gzip, deflate, br"}};

TEST(DashboardRoutes, ABrowserGetsThePageAndEveryOtherProgramAWelcome) {
  const Router router = router_with(kFiles);
  const auto page = get(router, "/", kBrowser);
  EXPECT_EQ(page.body, "zipped page");
  EXPECT_EQ(page.headers.find("Content-Encoding"), "gzip");
  EXPECT_EQ(page.headers.find("Cache-Control"), "no-cache");
  const auto text = get(router, "/", {{"Accept", "*/*"}});
  EXPECT_EQ(text.body, "welcome");
  EXPECT_EQ(text.headers.find("Vary"), "Accept, Accept-Encoding") << "a cache must not hand one to the other";
}

TEST(DashboardRoutes, FilesWithAHashInTheirNameAreGoodForEver) {
  const Router router = router_with(kFiles);
  const auto script = get(router, "/assets/index-Bk3.js", kBrowser);
  EXPECT_EQ(script.headers.find("Content-Type"), "text/javascript; charset=utf-8");
  EXPECT_EQ(script.headers.find("Cache-Control"), "public, max-age=31536000, immutable");
  EXPECT_EQ(get(router, "/assets/other.js", kBrowser).status, 404);
}

TEST(DashboardRoutes, WhatIsKnownIsNotSentAgain) {
  const Router router = router_with(kFiles);
  Headers headers = kBrowser;
  headers.set("If-None-Match", "W/\"old\", \"i1\"");
  const auto page = get(router, "/", headers);
  EXPECT_EQ(page.status, 304);
  EXPECT_EQ(page.body, "");
  EXPECT_EQ(page.headers.find("ETag"), "\"i1\"");
}

TEST(DashboardRoutes, NothingButOurOwnFilesMayRun) {
  for (const char* path : {"/", "/assets/index-Bk3.js"}) {
    const auto response = get(router_with(kFiles), path, kBrowser);
    const std::string policy(response.headers.find("Content-Security-Policy").value_or(""));
    EXPECT_THAT(policy, HasSubstr("default-src 'none'"));
    EXPECT_THAT(policy, HasSubstr("frame-ancestors 'none'"));
    EXPECT_THAT(policy, Not(HasSubstr("unsafe")));
    EXPECT_EQ(response.headers.find("X-Content-Type-Options"), "nosniff");
  }
}

TEST(DashboardRoutes, WhoTakesNoGzipIsToldSo) {
  const Router router = router_with(kFiles);
  for (const Headers& headers :
       {Headers{}, Headers{{"Accept-Encoding", "br"}}, Headers{{"Accept-Encoding", "gzip;q=0, br"}}}) {
    EXPECT_EQ(get(router, "/assets/index-Bk3.js", headers).status, 406);
  }
  EXPECT_EQ(get(router, "/assets/index-Bk3.js", {{"Accept-Encoding", "br;q=1, gzip;q=0.5"}}).status, 200);
}

TEST(DashboardRoutes, AProgramWithoutADashboardSaysWhatIsMissing) {
  const Router router = router_with({});
  const auto page = get(router, "/", kBrowser);
  EXPECT_EQ(page.status, 200);
  EXPECT_THAT(page.body, HasSubstr("built without Node"));
  EXPECT_EQ(get(router, "/", {}).body, "welcome");
}

}  // namespace
}  // namespace assay
