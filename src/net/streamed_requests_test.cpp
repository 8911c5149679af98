// Bodies of requests that handlers read while they arrive.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <latch>
#include <mutex>
#include <thread>

#include "net/body_fixture.h"
#include "net/client_messages.h"
#include "net/http_message.h"
#include "net/raw_connection_fixture.h"
#include "net/server_options.h"
#include "net/sse.h"

namespace assay {
namespace {

using std::chrono::milliseconds;
using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr std::uint64_t kUploadBytes = std::uint64_t{64} << 20;

/// Handlers of every temper, and what they have seen.
class StreamedRequests : public testing::TestWithParam<bool> {
 protected:
  void serve(ServerOptions options = {}) {
    Router router;
    const RouteOptions streamed{.stream_body = true, .admit = admit_by_name};
    router.post("/take", [this](const HttpRequest& request) { return take(request); }, streamed);
    router.add("PUT", "/take", [this](const HttpRequest& request) { return take(request); }, streamed);
    router.post("/small", [this](const HttpRequest& request) { return take(request); },
                {.body_bytes = 100, .stream_body = true});
    router.post("/refuse", [](const HttpRequest&) { return HttpResponse::text(403, "not here"); }, streamed);
    router.post(
        "/taste",
        [](const HttpRequest& request) {
          return HttpResponse::text(400, request.body_source->next() ? "no good" : "broken");
        },
        streamed);
    router.post(
        "/wait",
        [this](const HttpRequest& request) {
          reading_ = request.body_source->next().ok();
          release_.wait();
          return take(request);
        },
        streamed);
    router.get("/", [](const HttpRequest&) { return HttpResponse::text(200, "hello"); });
    served_.emplace(std::move(router), GetParam(), std::move(options));
  }
  HttpResponse take(const HttpRequest& request) {
    std::string text;
    const auto taken = pour(*request.body_source, [&](std::string_view piece) -> Result<void> {
      if (text.size() < 100) text += piece.substr(0, 100);
      return {};
    });
    const std::lock_guard lock(mutex_);
    if (taken) return HttpResponse::text(200, std::to_string(*taken) + ":" + text.substr(0, 10));
    seen_ = taken.error().kind;
    return HttpResponse::text(500, "the handler's own words");
  }
  std::optional<ErrorKind> seen() {
    const std::lock_guard lock(mutex_);
    return seen_;
  }
  HttpServer& server() { return served_->server(); }

  std::mutex mutex_;
  std::optional<ErrorKind> seen_;
  std::atomic<bool> reading_ = false;
  std::latch release_{1};
  std::optional<BodyServer> served_;
};

using PlainRequests = StreamedRequests;
INSTANTIATE_TEST_SUITE_P(Both, StreamedRequests, testing::Bool(), name_of_wire);
INSTANTIATE_TEST_SUITE_P(, PlainRequests, testing::Values(false), name_of_wire);

TEST_P(StreamedRequests, KeepTheConnection) {
  serve();
  const auto client = served_->client();
  for (const bool length_known : {true, false}) {
    for (const std::uint64_t size : {0, 1, 300'000, 3'000'000}) {
      const auto source = std::make_shared<PatternSource>(size, PatternSource::Options{.length_known = length_known});
      const auto got = client->send({.method = "POST", .target = "/take", .body_source = source});
      ASSERT_TRUE(got.ok()) << got.error().text();
      EXPECT_THAT(got->body, StartsWith(std::to_string(size) + ":")) << length_known;
    }
    EXPECT_EQ(client->send({.method = "PUT", .target = "/take", .body = "whole"})->body, "5:whole");
  }
  EXPECT_EQ(client->send({.target = "/"})->body, "hello");
  EXPECT_EQ(server().connections(), 1U) << "the connection was not kept";
}

TEST_P(StreamedRequests, AreNotReceivedFasterThanTheyAreRead) {
  serve();
  const auto source = std::make_shared<PatternSource>(kUploadBytes);
  const auto client = served_->client();
  Result<ClientResponse> got = Error{};
  std::jthread sender([&] { got = client->send({.method = "POST", .target = "/wait", .body_source = source}); });
  ASSERT_TRUE(comes_true([&] { return reading_.load(); }));
  // What fits into the sockets' buffers, the pipe and the piece in the handler's hands; then nothing more.
  std::uint64_t before = 0;
  ASSERT_TRUE(comes_true([&] {
    std::this_thread::sleep_for(milliseconds(100));
    return std::exchange(before, source->given()) == source->given();
  }));
  EXPECT_LT(source->given(), kUploadBytes / 2);
  EXPECT_EQ(served_->client()->send({.target = "/"})->body, "hello");
  release_.count_down();
  sender.join();
  ASSERT_TRUE(got.ok()) << got.error().text();
  EXPECT_EQ(got->status, 200);
  EXPECT_EQ(source->given(), kUploadBytes);
}

TEST_P(StreamedRequests, ARefusalLeavesTheBodyWhereItIs) {
  serve();
  const auto source = std::make_shared<PatternSource>(kUploadBytes);
  const auto client = served_->client();
  const auto refused = client->send({.method = "POST", .target = "/refuse", .body_source = source});
  ASSERT_TRUE(refused.ok()) << refused.error().text();
  EXPECT_EQ(refused->status, 403);
  EXPECT_EQ(refused->body, "not here");
  EXPECT_EQ(source->given(), 0U) << "it was asked first";
  EXPECT_EQ(client->send({.target = "/"})->body, "hello");
}

TEST_P(StreamedRequests, ARefusalInTheMiddleIsHeard) {
  serve();
  const auto client = served_->client();
  const auto refused = client->send(
      {.method = "POST", .target = "/taste", .body_source = std::make_shared<PatternSource>(kUploadBytes)});
  ASSERT_TRUE(refused.ok()) << refused.error().text();
  EXPECT_EQ(refused->body, "no good");
  EXPECT_EQ(client->send({.target = "/"})->body, "hello");
}

TEST_P(StreamedRequests, AClientThatLeavesIsSeen) {
  serve();
  const auto source = std::make_shared<PatternSource>(kUploadBytes, PatternSource::Options{.fails_at = 1'000'000});
  const auto failed = served_->client()->send({.method = "POST", .target = "/take", .body_source = source});
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().kind, ErrorKind::io);
  EXPECT_THAT(failed.error().text(), EndsWith("reading what is to be sent: disk on fire"));
  EXPECT_TRUE(comes_true([&] { return seen() == ErrorKind::lost_peer; }));
  EXPECT_TRUE(comes_true([&] { return server().connections() == 0; }));
}

TEST_P(StreamedRequests, StoppingDoesNotWaitForThem) {
  serve();
  const auto client = served_->client();
  std::latch begun(1);
  std::latch hold(1);
  std::atomic<int> asked = 0;
  const auto source = std::make_shared<PatternSource>(kUploadBytes, PatternSource::Options{.before_each = [&] {
                                                        if (asked++ != 3) return;
                                                        begun.count_down();
                                                        hold.wait();
                                                      }});
  std::jthread sender(
      [&] { EXPECT_FALSE(client->send({.method = "POST", .target = "/take", .body_source = source}).ok()); });
  begun.wait();
  server().stop(milliseconds(20));
  EXPECT_EQ(seen(), ErrorKind::interrupted);
  hold.count_down();
}

std::string post_head(std::string_view path, std::string_view more) {
  return "POST " + std::string(path) + " HTTP/1.1\r\nHost: x\r\n" + std::string(more) + "\r\n";
}

TEST_P(PlainRequests, TellsAClientToContinueWhenItIsReadFrom) {
  serve();
  RawConnection client(port_of(server()));
  client.send(post_head("/take", "Content-Length: 5\r\nExpect: 100-continue\r\n"));
  EXPECT_EQ(client.read_until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  client.send("hello" + get_and_close("/"));
  EXPECT_THAT(client.read_all(), AllOf(HasSubstr("5:hello"), EndsWith("hello")));
  EXPECT_THAT(answer_of(server(), post_head("/refuse", "Content-Length: 5\r\nExpect: 100-continue\r\n")),
              AllOf(StartsWith("HTTP/1.1 403"), HasSubstr("Connection: close")));
}

TEST_P(PlainRequests, AreFollowedByOthers) {
  serve();
  EXPECT_THAT(
      answer_of(server(), post_head("/take", "Content-Length: 3\r\n") + "abc" +
                              post_head("/take", "Transfer-Encoding: chunked\r\n") + "2\r\nde\r\n1\r\nf\r\n0\r\n\r\n" +
                              post_head("/take", "Content-Length: 0\r\n") + get_and_close("/")),
      AllOf(HasSubstr("3:abc"), HasSubstr("3:def"), HasSubstr("0:"), EndsWith("hello")));
}

TEST_P(PlainRequests, HaveTheLimitOfTheirRoute) {
  serve();
  EXPECT_THAT(answer_of(server(), post_head("/small", "Content-Length: 101\r\n")), StartsWith("HTTP/1.1 413"));
  EXPECT_FALSE(seen()) << "that could be told from the head";
  EXPECT_THAT(answer_of(server(), post_head("/small", "Transfer-Encoding: chunked\r\n") + "64\r\n" +
                                      std::string(100, 'x') + "\r\n1\r\ny\r\n0\r\n\r\n"),
              AllOf(StartsWith("HTTP/1.1 413"), Not(HasSubstr("own words"))));
  EXPECT_EQ(seen(), ErrorKind::usage);
  EXPECT_THAT(answer_of(server(), post_head("/take", "Transfer-Encoding: chunked\r\n") + "zz\r\n"),
              StartsWith("HTTP/1.1 400"));
}

TEST_P(PlainRequests, MustKeepAPace) {
  serve({.limits = {.stream_bytes_per_second = 100'000, .body_time = milliseconds(100)}});
  EXPECT_THAT(answer_of(server(), post_head("/take", "Content-Length: 5\r\n") + "ab"), StartsWith("HTTP/1.1 408"));
  EXPECT_EQ(seen(), ErrorKind::timeout);
  RawConnection trickling(port_of(server()));
  trickling.send(post_head("/take", "Content-Length: 1000000\r\n"));
  bool open = true;
  // A connection that stays open fails the test after 20 s.
  for (int i = 0; open && i < 1000; ++i) {
    open = trickling.send("x");
    std::this_thread::sleep_for(milliseconds(20));
    open = open && server().connections() == 1;
  }
  EXPECT_FALSE(open);
}

TEST_P(PlainRequests, OutlastTheTimeOfAWholeBody) {
  serve({.limits = {.stream_bytes_per_second = 1, .body_time = std::chrono::seconds(1)}});
  RawConnection slow(port_of(server()));
  slow.send(post_head("/take", "Connection: close\r\nContent-Length: 12000\r\n"));
  for (int i = 0; i < 12; ++i) {
    EXPECT_TRUE(slow.send(std::string(1000, 'x')));
    std::this_thread::sleep_for(milliseconds(100));
  }
  EXPECT_THAT(slow.read_all(), HasSubstr("12000:xxx"));
}

TEST_P(PlainRequests, OneCallerDoesNotTakeAllWorkers) {
  serve({.limits = {.streams_of_caller = 1}});
  RawConnection first(port_of(server()));
  first.send(post_head("/wait", "Connection: close\r\nContent-Length: 2\r\n") + "a");
  ASSERT_TRUE(comes_true([&] { return reading_.load(); }));
  EXPECT_THAT(answer_of(server(), post_head("/take", "Content-Length: 1\r\n") + "x"),
              AllOf(StartsWith("HTTP/1.1 429"), HasSubstr("Retry-After: 1")));
  EXPECT_THAT(answer_of(server(), get_and_close("/")), EndsWith("hello")) << "its other requests go on";
  EXPECT_THAT(
      answer_of(server(), post_head("/take", "Connection: close\r\nWho: another\r\nContent-Length: 1\r\n") + "x"),
      EndsWith("1:x"));
  release_.count_down();
  first.send("b");
  EXPECT_THAT(first.read_all(), EndsWith("1:b"));
}

TEST_P(PlainRequests, WaitForAWorkerWithTheirBodiesUnread) {
  serve({.stream_workers = 1});
  RawConnection first(port_of(server()));
  first.send(post_head("/wait", "Connection: close\r\nContent-Length: 2\r\n") + "a");
  ASSERT_TRUE(comes_true([&] { return reading_.load(); }));
  RawConnection second(port_of(server()));
  second.send(post_head("/take", "Connection: close\r\nContent-Length: 3\r\nExpect: 100-continue\r\n"));
  EXPECT_THAT(answer_of(server(), get_and_close("/")), EndsWith("hello"));
  release_.count_down();
  first.send("b");
  EXPECT_THAT(first.read_all(), EndsWith("1:b"));
  EXPECT_EQ(second.read_until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  second.send("xyz");
  EXPECT_THAT(second.read_all(), EndsWith("3:xyz"));
}

}  // namespace
}  // namespace assay
