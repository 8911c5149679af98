// Every limit of HttpLimits, made small enough to be reached.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <latch>
#include <memory>
#include <thread>

#include "net/http_message.h"
#include "net/raw_connection_fixture.h"
#include "net/route_options.h"
#include "net/router.h"
#include "net/server_fixture.h"
#include "net/server_options.h"

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

TEST(HttpLimits, AStrangersBodyIsNotRead) {
  Router router = echo_router();
  router.change_below("/echo", [](RouteOptions& options) {
    options.admit = [](const HttpRequest& head) -> Admission {
      if (head.headers.find("Authorization")) return {};
      return {.refuse = [](const HttpRequest& request) {
        return HttpResponse::text(401, "who asks for " + request.path + request.body + "?");
      }};
    };
  });
  const auto server = start_server(std::move(router));
  // Nothing of the body is ever sent: a server that waited for it would not answer.
  EXPECT_THAT(answer_of(*server, "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n"),
              AllOf(StartsWith("HTTP/1.1 401"), EndsWith("who asks for /echo?")));
  EXPECT_THAT(answer_of(*server, "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"),
              StartsWith("HTTP/1.1 401"));
  EXPECT_THAT(answer_of(*server, post("/echo", 900'000)), StartsWith("HTTP/1.1 401")) << "also while it is coming";
  EXPECT_THAT(answer_of(*server,
                        "POST /echo HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: me\r\n"
                        "Content-Length: 2\r\n\r\nab"),
              EndsWith("ab!"));
  EXPECT_THAT(answer_of(*server, post("/small", 2)), StartsWith("HTTP/1.1 200")) << "each route has its own rule";
}

TEST(HttpLimits, AllBodiesTogether) {
  Router router = echo_router();
  std::atomic<int> heads = 0;
  std::atomic<int> turned_away = 0;
  router.change_below("/large", [&](RouteOptions& options) {
    options.admit = [&](const HttpRequest& head) {
      ++heads;
      Admission admission = admit_by_name(head);
      admission.turned_away = [&] { ++turned_away; };
      return admission;
    };
  });
  const auto server = start_server(std::move(router), {.limits = {.all_body_bytes = 5000, .small_body_bytes = 10}});
  const auto head_of = [](std::string_view who, std::string_view length) {
    return "POST /large HTTP/1.1\r\nHost: x\r\nConnection: close\r\nWho: " + std::string(who) + "\r\n" +
           std::string(length) + "\r\n\r\n";
  };
  // Whoever holds all that one may leaves four times as much for the others, and so do they.
  RawConnection slow(port_of(*server));
  slow.send(head_of("one", "Content-Length: 1000"));
  ASSERT_TRUE(comes_true([&] { return heads == 1; }));
  EXPECT_THAT(answer_of(*server, head_of("one", "Content-Length: 11")),
              AllOf(StartsWith("HTTP/1.1 503"), HasSubstr("Retry-After: 1")));
  EXPECT_EQ(turned_away, 1);
  EXPECT_THAT(answer_of(*server, head_of("two", "Content-Length: 801")), StartsWith("HTTP/1.1 503"));
  // Nobody knows how long chunks will be: they count as what the route takes at most.
  EXPECT_THAT(answer_of(*server, head_of("two", "Transfer-Encoding: chunked")), StartsWith("HTTP/1.1 503"));
  EXPECT_THAT(answer_of(*server, head_of("two", "Content-Length: 800") + std::string(800, 'x')),
              StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(answer_of(*server, head_of("one", "Content-Length: 10") + std::string(10, 'x')),
              StartsWith("HTTP/1.1 200"))
      << "what is small is always let in";
  slow.send(std::string(1000, 'x'));
  EXPECT_THAT(slow.read_all(), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(answer_of(*server, head_of("two", "Content-Length: 1000") + std::string(1000, 'x')),
              StartsWith("HTTP/1.1 200"));
  EXPECT_EQ(turned_away, 3);
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

TEST(HttpLimits, ABodyMustKeepAPace) {
  const auto server =
      start_server(echo_router(), {.limits = {.stream_bytes_per_second = 100'000, .stall_time = milliseconds(100)}});
  EXPECT_THAT(answer_of(*server, "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nab"),
              StartsWith("HTTP/1.1 408"))
      << "long before the minute that a whole body may take";
  RawConnection trickling(port_of(*server));
  trickling.send("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n");
  bool open = true;
  // A connection that stays open fails the test after 20 s.
  for (int i = 0; open && i < 1000; ++i) {
    open = trickling.send("x");
    std::this_thread::sleep_for(milliseconds(20));
    open = open && server->connections() == 1;
  }
  EXPECT_FALSE(open);
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

TEST(HttpLimits, TimeForAWholeAnswer) {
  const auto server = start_server(echo_router(), {.limits = {.answer_time = milliseconds(100)}});
  RawConnection connection(port_of(*server), 4096);
  connection.send(get_and_close("/huge"));
  EXPECT_THAT(connection.read_until("h"), StartsWith("HTTP/1.1 200"));
  EXPECT_TRUE(comes_true([&] {
    connection.read_until("h");
    return server->connections() == 0;
  })) << "a client that takes a little now and then holds its answer for ever";
}

TEST(HttpLimits, AnswersThatWaitToBeTaken) {
  const auto server = start_server(echo_router(), {.limits = {.unsent_bytes = std::size_t{100} << 20}});
  RawConnection lazy(port_of(*server), 4096);
  lazy.send(get_and_close("/huge"));
  EXPECT_THAT(lazy.read_until("h"), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(answer_of(*server, get_and_close("/huge")),
              AllOf(StartsWith("HTTP/1.1 503"), HasSubstr("Retry-After: 1")));
  EXPECT_THAT(answer_of(*server, get_and_close("/")), StartsWith("HTTP/1.1 200"));
  lazy.close();
  EXPECT_TRUE(comes_true([&] { return server->connections() == 0; }));
  EXPECT_THAT(answer_of(*server, get_and_close("/huge")), StartsWith("HTTP/1.1 200"));
}

TEST(HttpLimits, ConnectionsOfOnePeer) {
  const auto server = start_server(echo_router(), {.limits = {.connections = 100, .connections_of_peer = 1}});
  RawConnection one(port_of(*server));
  EXPECT_TRUE(comes_true([&] { return server->connections() == 1; }));
  EXPECT_THAT(answer_of(*server, ""), StartsWith("HTTP/1.1 503"));
  one.close();
  EXPECT_TRUE(comes_true([&] { return server->connections() == 0; }));
  EXPECT_THAT(answer_of(*server, get_and_close("/")), StartsWith("HTTP/1.1 200"));
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

/// Handlers that wait, so that workers are busy for as long as a test wants.
struct Blocker {
  std::atomic<int> begun = 0;
  std::latch release{1};
  Handler handler() {
    return [this](const HttpRequest&) {
      ++begun;
      release.wait();
      return HttpResponse::text(200, "late");
    };
  }
};

TEST(HttpLimits, UrgentAndSlowHandlersHaveWorkersOfTheirOwn) {
  Blocker blocker;
  Router router = echo_router();
  router.get("/block", blocker.handler());
  router.get("/minutes", blocker.handler(), {.run_on = RunOn::slow_worker});
  router.get("/urgent", [](const HttpRequest&) { return HttpResponse::text(200, "now"); },
             {.run_on = RunOn::urgent_worker});
  const auto server = start_server(std::move(router), {.workers = 1});
  RawConnection slow(port_of(*server));
  slow.send(get_and_close("/minutes"));
  ASSERT_TRUE(comes_true([&] { return blocker.begun == 1; }));
  EXPECT_THAT(answer_of(*server, get_and_close("/")), StartsWith("HTTP/1.1 200")) << "the one worker is free";
  RawConnection blocked(port_of(*server));
  blocked.send(get_and_close("/block"));
  ASSERT_TRUE(comes_true([&] { return blocker.begun == 2; }));
  EXPECT_THAT(answer_of(*server, get_and_close("/urgent")), EndsWith("now"));
  blocker.release.count_down();
  EXPECT_THAT(slow.read_all(), EndsWith("late"));
  EXPECT_THAT(blocked.read_all(), EndsWith("late"));
}

TEST(HttpLimits, RequestsOfOneCaller) {
  Blocker blocker;
  Router router = echo_router();
  router.get("/block", blocker.handler(), {.admit = admit_by_name});
  router.get("/shared", [](const HttpRequest&) { return HttpResponse::text(200, "ok"); },
             {.many_callers = true, .admit = admit_by_name});
  router.change_below("/", [](RouteOptions& options) { options.admit = admit_by_name; });
  const auto server = start_server(std::move(router), {.limits = {.requests_of_caller = 1}, .workers = 3});
  const auto get_as = [](std::string_view path, std::string_view who) {
    return "GET " + std::string(path) + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\nWho: " + std::string(who) +
           "\r\n\r\n";
  };
  RawConnection blocked(port_of(*server));
  blocked.send(get_as("/block", "one"));
  ASSERT_TRUE(comes_true([&] { return blocker.begun == 1; }));
  EXPECT_THAT(answer_of(*server, get_as("/", "one")), AllOf(StartsWith("HTTP/1.1 429"), HasSubstr("Retry-After: 1")));
  EXPECT_THAT(answer_of(*server, get_as("/", "two")), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(answer_of(*server, get_as("/shared", "one")), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(answer_of(*server, get_and_close("/")), StartsWith("HTTP/1.1 200")) << "of an address, another caller";
  blocker.release.count_down();
  EXPECT_THAT(blocked.read_all(), EndsWith("late"));
  EXPECT_TRUE(comes_true([&] { return server->connections() == 0; }));
  EXPECT_THAT(answer_of(*server, get_as("/", "one")), StartsWith("HTTP/1.1 200"));
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
