#include "net/http_client.h"
#include "net/client_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <thread>

#include "net/client_messages.h"
#include "net/http_message.h"
#include "net/listener.h"
#include "net/raw_connection_fixture.h"
#include "net/response_stream.h"
#include "net/router.h"
#include "net/server_fixture.h"
#include "net/server_options.h"
#include "net/sse.h"
#include "net/url.h"
#include "net/url_text.h"

namespace assay {
namespace {

using std::chrono::milliseconds;
using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

std::unique_ptr<HttpClient> client_for(std::uint16_t port, ClientOptions options = {}) {
  auto client = HttpClient::create({.host = "127.0.0.1", .port = port, .target = "/"}, std::move(options));
  EXPECT_TRUE(client.ok());
  return std::move(*client);
}

/// A server that answers every connection with the same bytes, whatever it is asked, and closes.
class ScriptedServer {
 public:
  explicit ScriptedServer(std::string answer, bool close_after = true)
      : listener_(*Listener::open({.host = "127.0.0.1"})),
        thread_([this, answer = std::move(answer), close_after](std::stop_token stop) {
          std::vector<FileDescriptor> kept;
          while (!stop.stop_requested()) {
            auto accepted = listener_.accept();
            if (accepted.error != 0) {
              std::this_thread::sleep_for(milliseconds(1));
              continue;
            }
            ++accepted_;
            std::array<char, 4096> ignored;
            while (::recv(accepted.connection.fd.get(), ignored.data(), ignored.size(), 0) < 0 && errno == EAGAIN &&
                   !stop.stop_requested()) {
              std::this_thread::sleep_for(milliseconds(1));
            }
            (void)::send(accepted.connection.fd.get(), answer.data(), answer.size(), MSG_NOSIGNAL);
            if (!close_after) kept.push_back(std::move(accepted.connection.fd));
          }
        }) {}
  std::uint16_t port() const { return listener_.address().port; }
  int accepted() const { return accepted_; }

 private:
  Listener listener_;
  std::atomic<int> accepted_ = 0;
  std::jthread thread_;
};

Router answering_router() {
  Router router;
  router.get("/hello", [](const HttpRequest& request) {
    return HttpResponse::text(200, "hello " + std::string(request.query_value("q").value_or("")));
  });
  router.post("/echo", [](const HttpRequest& request) {
    return HttpResponse::text(201, std::string(request.headers.find("X-Kind").value_or("")) + request.body);
  });
  router.get("/v1/base", [](const HttpRequest& request) {
    return HttpResponse::text(200, std::string(*request.headers.find("Host")));
  });
  router.get("/big", [](const HttpRequest&) { return HttpResponse::text(200, std::string(5000, 'b')); });
  router.get("/pieces", [](const HttpRequest&) {
    auto stream = std::make_shared<ResponseStream>();
    for (int i = 0; i < 5; ++i) stream->write(std::to_string(i));
    stream->finish();
    return HttpResponse::streaming(stream, "text/plain");
  });
  return router;
}

TEST(HttpClient, SendsAndReceives) {
  const auto server = start_server(answering_router());
  const auto client = client_for(port_of(*server));
  const auto got = client->send({.target = "/hello?q=" + percent_encode("a b&c")});
  ASSERT_TRUE(got.ok()) << got.error().text();
  EXPECT_EQ(got->status, 200);
  EXPECT_EQ(got->body, "hello a b&c");
  EXPECT_THAT(*got->headers.find("content-type"), StartsWith("text/plain"));
  const auto posted =
      client->send({.method = "POST", .target = "/echo", .headers = {{"X-Kind", "k:"}}, .body = "data"});
  ASSERT_TRUE(posted.ok());
  EXPECT_EQ(posted->status, 201);
  EXPECT_EQ(posted->body, "k:data");
  EXPECT_EQ(server->connections(), 1U) << "the connection was not kept";
}

TEST(HttpClient, ReadsChunkedAnswersAndHeads) {
  const auto server = start_server(answering_router());
  const auto client = client_for(port_of(*server));
  EXPECT_EQ(client->send({.target = "/pieces"})->body, "01234");
  const auto head = client->send({.method = "HEAD", .target = "/big"});
  ASSERT_TRUE(head.ok()) << head.error().text();
  EXPECT_EQ(head->headers.find("Content-Length"), "5000");
  EXPECT_EQ(head->body, "");
  EXPECT_EQ(client->send({.target = "/nowhere"})->status, 404);
}

TEST(HttpClient, PutsTheUrlsPathInFront) {
  const auto server = start_server(answering_router());
  auto url = parse_url("http://localhost:" + std::to_string(port_of(*server)) + "/v1/");
  const auto client = HttpClient::create(*url, {});
  const auto got = (*client)->send({.target = "/base"});
  ASSERT_TRUE(got.ok()) << got.error().text();
  EXPECT_EQ(got->body, "localhost:" + std::to_string(port_of(*server)));
}

TEST(HttpClient, SpeaksOverUnixSockets) {
  const TemporaryFolder folder;
  const std::string path = folder.path() / "s.sock";
  const auto server = start_server(answering_router(), {.listen = {{.socket_path = path}}});
  const auto client = HttpClient::create(*parse_url("unix:" + path), {.server = "the agent"});
  const auto got = (*client)->send({.target = "/hello"});
  ASSERT_TRUE(got.ok()) << got.error().text();
  EXPECT_EQ(got->body, "hello ");
  const auto nobody = HttpClient::create(*parse_url("unix:" + path + "x"), {.server = "the agent"});
  const auto failed = (*nobody)->send({});
  EXPECT_EQ(failed.error().kind, ErrorKind::unreachable);
  EXPECT_THAT(failed.error().hint, HasSubstr("Is the agent running"));
}

TEST(HttpClient, ReconnectsWhenTheServerHasClosedAKeptConnection) {
  const auto server = start_server(answering_router(), {.limits = {.idle_time = milliseconds(20)}});
  const auto client = client_for(port_of(*server));
  for (int i = 0; i < 3; ++i) {
    const auto posted = client->send({.method = "POST", .target = "/echo", .body = "x"});
    ASSERT_TRUE(posted.ok()) << posted.error().text();
    ASSERT_TRUE(comes_true([&] { return server->connections() == 0; }));
  }
}

TEST(HttpClient, SaysThatNobodyListens) {
  std::uint16_t port = 0;
  {
    const auto listener = Listener::open({.host = "127.0.0.1"});
    port = listener->address().port;
  }
  const auto client = client_for(port, {.server = "the leader"});
  const auto failed = client->send({.target = "/runs"});
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().kind, ErrorKind::unreachable);
  EXPECT_THAT(failed.error().text(),
              AllOf(StartsWith("GET /runs: "), HasSubstr("connection refused at 127.0.0.1:" + std::to_string(port))));
  EXPECT_EQ(failed.error().hint, "Is the leader running there?");
}

TEST(HttpClient, SaysThatAHostIsUnknown) {
  const auto client =
      HttpClient::create(*parse_url("http://no.such.host.invalid:1"), {.connect_time = std::chrono::seconds(20)});
  EXPECT_EQ((*client)->send({}).error().kind, ErrorKind::unreachable);
}

TEST(HttpClient, GivesUpInTime) {
  const ScriptedServer silent("", false);
  const auto client = client_for(silent.port());
  const auto failed = client->send({.time = milliseconds(50)});
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().kind, ErrorKind::timeout);
  const ScriptedServer half("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf", false);
  EXPECT_EQ(client_for(half.port())->send({.time = milliseconds(50)}).error().kind, ErrorKind::timeout);
}

TEST(HttpClient, BoundsTheAnswer) {
  const auto server = start_server(answering_router());
  const auto client = client_for(port_of(*server), {.response_bytes = 4999});
  const auto failed = client->send({.target = "/big"});
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().kind, ErrorKind::io);
  EXPECT_EQ(client->send({.target = "/hello"})->status, 200);
  const ScriptedServer endless("HTTP/1.1 200 OK\r\nX: " + std::string(3000, 'x'));
  EXPECT_EQ(client_for(endless.port(), {.header_bytes = 1000})->send({}).error().kind, ErrorKind::io);
}

TEST(HttpClient, SaysWhatWasWrongWithTheAnswer) {
  const auto error_of = [](const std::string& answer) {
    const ScriptedServer server(answer);
    auto result = client_for(server.port())->send({});
    return result.ok() ? std::string("fine: ") + result->body : std::string(name_of(result.error().kind));
  };
  EXPECT_EQ(error_of("SSH-2.0-OpenSSH_9.2\r\n\r\n"), "io");
  EXPECT_EQ(error_of(""), "lost_peer");
  EXPECT_EQ(error_of("HTTP/1.1 200 OK\r\n"), "lost_peer");
  EXPECT_EQ(error_of("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf"), "lost_peer");
  EXPECT_EQ(error_of("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel"), "lost_peer");
  EXPECT_EQ(error_of("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"), "io");
  EXPECT_EQ(error_of("HTTP/1.1 200 OK\r\nContent-Length: 4000000000000000000\r\n\r\nsome"), "lost_peer")
      << "no room is made for what a server claims";
  EXPECT_EQ(error_of("HTTP/1.1 101 Switching Protocols\r\n\r\n"), "io");
  EXPECT_EQ(error_of("HTTP/1.1 200 OK\r\n\r\nuntil the end"), "fine: until the end");
  EXPECT_EQ(error_of("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"), "fine: ok");
  EXPECT_EQ(error_of("HTTP/1.1 204 No Content\r\n\r\n"), "fine: ");
}

TEST(HttpClient, DoesNotRepeatAPost) {
  // Each connection is good for one answer, and closes at the second request.
  const ScriptedServer server("", true);
  EXPECT_FALSE(client_for(server.port())->send({.method = "POST", .body = "x"}).ok());
  EXPECT_EQ(server.accepted(), 1);
}

TEST(HttpClient, SeesWhyALargeBodyWasRefused) {
  const auto server = start_server(answering_router(), {.limits = {.body_bytes = 100}});
  const auto refused =
      client_for(port_of(*server))->send({.method = "POST", .target = "/echo", .body = std::string(200'000, 'x')});
  ASSERT_TRUE(refused.ok()) << refused.error().text();
  EXPECT_EQ(refused->status, 413);
}

TEST(HttpClient, RefusesRequestsThatWouldBreakTheirLines) {
  const auto client = client_for(1);
  EXPECT_EQ(client->send({.target = "/a b"}).error().kind, ErrorKind::usage);
  EXPECT_EQ(client->send({.target = "x"}).error().kind, ErrorKind::usage);
  EXPECT_EQ(client->send({.method = "GET /"}).error().kind, ErrorKind::usage);
  EXPECT_EQ(client->send({.headers = {{"X", "a\r\nb"}}}).error().kind, ErrorKind::usage);
}

TEST(HttpClient, CanBeCancelledFromAnotherThread) {
  const ScriptedServer silent("", false);
  const auto client = client_for(silent.port());
  std::jthread canceller([&] {
    comes_true([&] { return silent.accepted() == 1; });
    client->cancel();
  });
  EXPECT_EQ(client->send({.time = std::chrono::seconds(60)}).error().kind, ErrorKind::interrupted);
  EXPECT_EQ(client->send({}).error().kind, ErrorKind::interrupted) << "and stays so";
}

TEST(FailureOf, NamesTheKindAndTheServersWords) {
  EXPECT_FALSE(failure_of({.status = 302}, "the leader"));
  const auto denied = failure_of({.status = 403, .body = "no\x1b[2J role\n"}, "the leader");
  ASSERT_TRUE(denied);
  EXPECT_EQ(denied->kind, ErrorKind::denied);
  EXPECT_EQ(denied->message, "the leader answered 403 Forbidden: no role");
  EXPECT_EQ(failure_of({.status = 404}, "x")->kind, ErrorKind::not_found);
  EXPECT_EQ(failure_of({.status = 429}, "x")->kind, ErrorKind::busy);
  EXPECT_EQ(failure_of({.status = 400}, "x")->kind, ErrorKind::usage);
  EXPECT_EQ(failure_of({.status = 500}, "x")->kind, ErrorKind::crash);
}

class EventSourceTest : public testing::Test {
 protected:
  EventSourceTest() {
    Router router;
    router.get("/events", [this](const HttpRequest& request) {
      last_id_ = request.headers.find("Last-Event-ID").value_or("");
      return HttpResponse::streaming(events_.stream(), "text/event-stream; charset=utf-8");
    });
    router.get("/denied", [](const HttpRequest&) { return HttpResponse::text(403, "not you"); });
    router.get("/page", [](const HttpRequest&) { return HttpResponse::text(200, "hi"); });
    server_ = start_server(std::move(router));
    client_ = client_for(port_of(*server_), {.server = "the leader", .events = {.line_bytes = 1000}});
  }
  EventStream events_;
  std::string last_id_;
  std::unique_ptr<HttpServer> server_;
  std::unique_ptr<HttpClient> client_;
};

TEST_F(EventSourceTest, ReadsEventsAsTheyHappen) {
  auto source = client_->open_events({.target = "/events", .headers = {{"Last-Event-ID", "41"}}});
  ASSERT_TRUE(source.ok()) << source.error().text();
  EXPECT_EQ(last_id_, "41");
  EXPECT_EQ(source->next(milliseconds(10)).error().kind, ErrorKind::timeout);
  events_.send({.event = "a", .data = "1\n2", .id = "42"});
  events_.send({.data = "b"});
  const auto first = source->next(std::chrono::seconds(10));
  ASSERT_TRUE(first.ok()) << first.error().text();
  EXPECT_EQ(*first, (ServerEvent{"a", "1\n2", "42", {}}));
  EXPECT_EQ(source->next(std::chrono::seconds(10))->data, "b");
  events_.finish();
  EXPECT_EQ(source->next(std::chrono::seconds(10)).error().kind, ErrorKind::lost_peer);
}

TEST_F(EventSourceTest, SaysWhyThereIsNoStream) {
  const auto denied = client_->open_events({.target = "/denied"});
  ASSERT_FALSE(denied.ok());
  EXPECT_EQ(denied.error().kind, ErrorKind::denied);
  EXPECT_THAT(denied.error().text(), EndsWith("the leader answered 403 Forbidden: not you"));
  EXPECT_THAT(client_->open_events({.target = "/page"}).error().message, HasSubstr("without an event stream"));
}

TEST_F(EventSourceTest, BoundsALine) {
  auto source = client_->open_events({.target = "/events"});
  ASSERT_TRUE(source.ok());
  events_.send({.data = std::string(2000, 'x')});
  EXPECT_EQ(source->next(std::chrono::seconds(10)).error().kind, ErrorKind::io);
}

TEST_F(EventSourceTest, LeavingEndsTheServersSide) {
  {
    auto source = client_->open_events({.target = "/events"});
    ASSERT_TRUE(source.ok());
  }
  EXPECT_TRUE(comes_true([&] { return !events_.open(); }));
}

TEST_F(EventSourceTest, WaitingCanBeCancelled) {
  auto source = client_->open_events({.target = "/events"});
  ASSERT_TRUE(source.ok());
  std::jthread canceller([&] { client_->cancel(); });
  EXPECT_EQ(source->next(std::chrono::seconds(60)).error().kind, ErrorKind::interrupted);
}

}  // namespace
}  // namespace assay
