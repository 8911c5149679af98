// Every limit of HttpLimits, made small enough to be reached.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <latch>
#include <memory>
#include <thread>

#include "net/server_fixture.h"

namespace assay {
namespace {

using std::chrono::milliseconds;
using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

Router echo_router() {
  Router router;
  const auto echo = [](const HttpRequest& request) { return HttpResponse::text(200, request.body + "!"); };
  router.post("/echo", echo);
  router.post("/small", echo, {.body_bytes = 4});
  router.post("/large", echo, {.body_bytes = 1000});
  router.get("/", echo);
  router.get("/huge", [](const HttpRequest&) { return HttpResponse::text(200, std::string(64 << 20, 'h')); });
  return router;
}

std::string post(std::string_view path, std::size_t size) {
  return "POST " + std::string(path) +
         " HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: " + std::to_string(size) + "\r\n\r\n" +
         std::string(size, 'x');
}

TEST(HttpLimits, HeaderAndTarget) {
  const auto server = start_server(echo_router(), {.limits = {.header_bytes = 200, .target_bytes = 50}});
  EXPECT_THAT(answer_of(*server, "GET / HTTP/1.1\r\nX: " + std::string(300, 'a')), StartsWith("HTTP/1.1 431"));
  EXPECT_THAT(answer_of(*server, "GET /" + std::string(300, 'a')), StartsWith("HTTP/1.1 414"));
  EXPECT_THAT(answer_of(*server, get_and_close("/" + std::string(60, 'a'))), StartsWith("HTTP/1.1 414"));
  EXPECT_THAT(answer_of(*server, get_and_close("/")), StartsWith("HTTP/1.1 200"));
}

TEST(HttpLimits, BodyOfTheServerAndOfTheRoute) {
  const auto server = start_server(echo_router(), {.limits = {.body_bytes = 100}});
  EXPECT_THAT(answer_of(*server, post("/echo", 100)), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(answer_of(*server, post("/echo", 101)), StartsWith("HTTP/1.1 413"));
  EXPECT_THAT(answer_of(*server, post("/small", 4)), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(answer_of(*server, post("/small", 5)), StartsWith("HTTP/1.1 413"));
  EXPECT_THAT(answer_of(*server, post("/large", 1000)), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(answer_of(*server,
                        "POST /small HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n0\r\n\r\n"),
              StartsWith("HTTP/1.1 413"));
}

TEST(HttpLimits, ARefusedLargeBodyStillGetsItsAnswer) {
  const auto server = start_server(echo_router(), {.limits = {.body_bytes = 100}});
  EXPECT_THAT(answer_of(*server, post("/echo", 200'000)), StartsWith("HTTP/1.1 413"));
}

TEST(HttpLimits, TimeForTheHeader) {
  const auto server = start_server(echo_router(), {.limits = {.header_time = milliseconds(50)}});
  EXPECT_THAT(answer_of(*server, "GET / HTTP/1.1\r\nHost: x\r\n"), StartsWith("HTTP/1.1 408"));
  EXPECT_THAT(answer_of(*server, ""), IsEmpty());
}

TEST(HttpLimits, ASlowHeaderIsNotHelpedByTrickling) {
  const auto server = start_server(echo_router(), {.limits = {.header_time = milliseconds(100)}});
  RawConnection connection(port_of(*server));
  connection.send("GET / HTTP/1.1\r\nHost: x\r\n");
  bool open = true;
  // The server hangs up although bytes keep coming; a connection that stays open fails the test after 20 s.
  for (int i = 0; open && i < 1000; ++i) {
    open = connection.send("X: y\r\n");
    std::this_thread::sleep_for(milliseconds(20));
    open = open && server->connections() == 1;
  }
  EXPECT_FALSE(open);
}

TEST(HttpLimits, TimeForTheBody) {
  const auto server = start_server(echo_router(), {.limits = {.body_time = milliseconds(50)}});
  EXPECT_THAT(answer_of(*server, "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nab"),
              StartsWith("HTTP/1.1 408"));
}

TEST(HttpLimits, IdleTime) {
  const auto server = start_server(echo_router(), {.limits = {.idle_time = milliseconds(50)}});
  const std::string answer = answer_of(*server, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(answer, AllOf(StartsWith("HTTP/1.1 200"), EndsWith("!")));
}

TEST(HttpLimits, TimeThatAWriteMayHang) {
  const auto server = start_server(echo_router(), {.limits = {.write_time = milliseconds(100)}});
  RawConnection connection(port_of(*server), 4096);
  connection.send(get_and_close("/huge"));
  EXPECT_TRUE(comes_true([&] { return server->connections() == 1; }));
  EXPECT_TRUE(comes_true([&] { return server->connections() == 0; })) << "a client that takes nothing is not cut off";
}

TEST(HttpLimits, Connections) {
  const auto server = start_server(echo_router(), {.limits = {.connections = 2}});
  RawConnection one(port_of(*server));
  RawConnection two(port_of(*server));
  EXPECT_TRUE(comes_true([&] { return server->connections() == 2; }));
  EXPECT_THAT(answer_of(*server, ""), StartsWith("HTTP/1.1 503"));
  one.close();
  EXPECT_TRUE(comes_true([&] { return server->connections() == 1; }));
  EXPECT_THAT(answer_of(*server, get_and_close("/")), StartsWith("HTTP/1.1 200"));
}

TEST(HttpLimits, RequestsThatWaitForAWorker) {
  std::latch begun(1);
  std::latch release(1);
  Router router;
  router.get("/block", [&](const HttpRequest&) {
    begun.count_down();
    release.wait();
    return HttpResponse::text(200, "late");
  });
  router.get("/", [](const HttpRequest&) { return HttpResponse::text(200, "ok"); });
  std::atomic<int> refusals = 0;
  router.on_refusal([&](int status, std::string_view message) {
    ++refusals;
    return HttpResponse::text(status, std::string(message));
  });
  const auto server = start_server(std::move(router), {.limits = {.waiting_requests = 1}, .workers = 1});
  RawConnection blocked(port_of(*server));
  blocked.send(get_and_close("/block"));
  begun.wait();
  // Two more than fit: whichever of them comes second is refused, the other one waits.
  std::array<std::string, 2> answers;
  std::array<std::unique_ptr<RawConnection>, 2> others;
  for (auto& other : others) {
    other = std::make_unique<RawConnection>(port_of(*server));
    other->send(get_and_close("/"));
  }
  std::jthread first([&] { answers[0] = others[0]->read_all(); });
  std::jthread second([&] { answers[1] = others[1]->read_all(); });
  EXPECT_TRUE(comes_true([&] { return refusals == 1; }));
  release.count_down();
  first.join();
  second.join();
  EXPECT_THAT(blocked.read_all(), EndsWith("late"));
  EXPECT_THAT(answers[0] + answers[1],
              AllOf(HasSubstr("HTTP/1.1 503"), HasSubstr("Retry-After: 1"), HasSubstr("HTTP/1.1 200")));
}

}  // namespace
}  // namespace assay
