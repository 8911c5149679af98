#include "net/router.h"
#include "net/http_message.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "net/request_target.h"

namespace assay {
namespace {

using testing::ElementsAre;
using testing::Pair;

Handler says(std::string text) {
  return [text](const HttpRequest&) { return HttpResponse::text(200, text); };
}

class RouterTest : public testing::Test {
 protected:
  RouterTest() {
    router_.get("/", says("root"));
    router_.get("/runs", says("list"));
    router_.post("/runs", says("create"), {.body_bytes = 10, .run_on = RunOn::io_thread});
    router_.get("/runs/{run}", says("one"));
    router_.get("/runs/newest", says("newest"));
    router_.get("/runs/{run}/files/{file...}", says("file"));
    router_.add("DELETE", "/runs/{run}", says("delete"));
    router_.get("/{page...}", says("page"));
  }
  Router::Match match(std::string_view method, std::string_view target) {
    return router_.match(method, *parse_request_target(target));
  }
  std::string answer(std::string_view method, std::string_view target) {
    const auto found = match(method, target);
    return found.handler ? (*found.handler)({}).body : std::to_string(found.status);
  }
  Router router_;
};

TEST_F(RouterTest, FindsTheMostLiteralRoute) {
  EXPECT_EQ(answer("GET", "/"), "root");
  EXPECT_EQ(answer("GET", "/runs"), "list");
  EXPECT_EQ(answer("POST", "/runs?x=1"), "create");
  EXPECT_EQ(answer("GET", "/runs/newest"), "newest");
  EXPECT_EQ(answer("GET", "/runs/abc"), "one");
  EXPECT_EQ(answer("DELETE", "/runs/newest"), "delete");
  EXPECT_EQ(answer("GET", "/runs/abc/files/a/b.txt"), "file");
  EXPECT_EQ(answer("GET", "/index.html"), "page");
  EXPECT_EQ(answer("GET", "/runs/abc/other"), "page");
}

TEST_F(RouterTest, CapturesDecodedSegments) {
  EXPECT_THAT(match("GET", "/runs/a%2Fb").captured, ElementsAre(Pair("run", "a/b")));
  EXPECT_THAT(match("GET", "/runs/r/files/x/y%20z").captured, ElementsAre(Pair("run", "r"), Pair("file", "x/y z")));
}

TEST_F(RouterTest, AnEmptySegmentIsNoCapture) {
  EXPECT_EQ(answer("DELETE", "/runs/"), "405");
  EXPECT_EQ(answer("GET", "/runs/"), "page");
}

TEST_F(RouterTest, HeadIsAnsweredByGet) { EXPECT_EQ(answer("HEAD", "/runs"), "list"); }

TEST_F(RouterTest, SaysWhatAPathTakes) {
  const auto wrong = match("PUT", "/runs/abc");
  EXPECT_EQ(wrong.status, 405);
  EXPECT_EQ(wrong.allow, "DELETE, GET, HEAD, OPTIONS");
  const auto options = match("OPTIONS", "/runs");
  EXPECT_EQ(options.status, 204);
  EXPECT_EQ(options.allow, "GET, HEAD, OPTIONS, POST");
  EXPECT_EQ(match("OPTIONS", "*").status, 204);
}

TEST_F(RouterTest, HandsOnTheRoutesOptions) {
  EXPECT_EQ(match("POST", "/runs").options.body_bytes, 10U);
  EXPECT_EQ(match("POST", "/runs").options.run_on, RunOn::io_thread);
  EXPECT_EQ(match("GET", "/runs").options.run_on, RunOn::worker);
}

TEST(Router, WithoutARouteThereIsNothing) {
  Router router;
  router.get("/a", says("a"));
  EXPECT_EQ(router.match("GET", *parse_request_target("/b")).status, 404);
  EXPECT_EQ(router.match("OPTIONS", *parse_request_target("/b")).status, 404);
  EXPECT_EQ(router.match("GET", *parse_request_target("/a/")).status, 404);
}

TEST(Router, AHeadRouteOfItsOwnGoesFirst) {
  for (const bool head_first : {true, false}) {
    Router router;
    if (head_first) router.add("HEAD", "/a", says("head"));
    router.get("/a", says("get"));
    if (!head_first) router.add("HEAD", "/a", says("head"));
    EXPECT_EQ((*router.match("HEAD", *parse_request_target("/a")).handler)({}).body, "head");
  }
}

TEST(Router, OptionsCanBeChangedForAWholeFolder) {
  Router router;
  for (const char* pattern : {"/a", "/a/b", "/a/{x}/c", "/ab", "/b/a"}) router.get(pattern, says("x"));
  router.change_below("/a", [](RouteOptions& options) { options.run_on = RunOn::urgent_worker; });
  router.change_below("/a/b", [](RouteOptions& options) { options.body_bytes = 5; });
  const auto options = [&](std::string_view path) { return router.match("GET", *parse_request_target(path)).options; };
  for (const char* path : {"/a", "/a/b", "/a/1/c"}) EXPECT_EQ(options(path).run_on, RunOn::urgent_worker) << path;
  for (const char* path : {"/ab", "/b/a"}) EXPECT_EQ(options(path).run_on, RunOn::worker) << path;
  EXPECT_EQ(options("/a/b").body_bytes, 5U);
  EXPECT_FALSE(options("/a").body_bytes.has_value());
}

TEST(Router, RefusalsCanHaveAFormOfTheirOwn) {
  Router router;
  EXPECT_EQ(router.refusal(404, "nothing").body, "404 Not Found: nothing\n");
  router.on_refusal([](int status, std::string_view message) {
    return HttpResponse::json(status, "{\"error\":\"" + std::string(message) + "\"}");
  });
  EXPECT_EQ(router.refusal(404, "nothing").body, "{\"error\":\"nothing\"}");
}

TEST(Router, RefusalsLookAsThePathWantsIt) {
  Router router;
  EXPECT_EQ(router.refusal(404, "nothing").body, "404 Not Found: nothing\n");
  const auto as = [](std::string name) {
    return [name = std::move(name)](int status, std::string_view) { return HttpResponse::text(status, name); };
  };
  router.on_refusal(as("usual"));
  router.on_refusal_below("/api/v1", as("one"));
  router.on_refusal_below("/api/v1/odd", as("odd"));
  EXPECT_EQ(router.refusal(404, "").body, "usual");
  EXPECT_EQ(router.refusal(404, "", "/api/v1/x").body, "one");
  EXPECT_EQ(router.refusal(404, "", "/api/v1").body, "one");
  EXPECT_EQ(router.refusal(404, "", "/api/v10/x").body, "usual");
  EXPECT_EQ(router.refusal(404, "", "/api/v1/odd/x").body, "odd");
}

}  // namespace
}  // namespace assay
