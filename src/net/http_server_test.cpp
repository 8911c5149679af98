#include "net/http_server.h"
#include "net/http_message.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <stdexcept>
#include <thread>

#include "net/raw_connection_fixture.h"
#include "net/route_options.h"
#include "net/router.h"
#include "net/server_fixture.h"
#include "net/server_options.h"

namespace assay {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

std::size_t count(std::string_view text, std::string_view part) {
  std::size_t found = 0;
  for (auto at = text.find(part); at != std::string_view::npos; at = text.find(part, at + part.size())) ++found;
  return found;
}

Router test_router() {
  Router router;
  router.get("/hello/{name}", [](const HttpRequest& request) {
    return HttpResponse::text(200, "hello " + std::string(request.capture("name")));
  });
  router.get("/quick", [](const HttpRequest&) { return HttpResponse::text(200, "quick"); },
             {.run_on = RunOn::io_thread});
  router.post("/echo", [](const HttpRequest& request) { return HttpResponse::text(200, request.body); });
  router.get("/query", [](const HttpRequest& request) {
    return HttpResponse::text(200, std::string(request.query_value("q").value_or("none")) + "|" + request.peer.host +
                                       "|" + (request.tls ? "tls" : "plain") + "|" +
                                       std::string(request.headers.find("x-me").value_or("")));
  });
  router.get("/fail", [](const HttpRequest&) -> HttpResponse { throw std::runtime_error("boom"); });
  router.get("/fail-oddly", [](const HttpRequest&) -> HttpResponse { throw 7; });
  router.get("/empty", [](const HttpRequest&) { return HttpResponse{.status = 204, .body = "not sent"}; });
  router.get("/big", [](const HttpRequest&) { return HttpResponse::text(200, std::string(300'000, 'b')); });
  router.get("/bad-header", [](const HttpRequest&) {
    return HttpResponse{.headers = {{"X-A", "one\r\nX-Evil: 1"}, {"Content-Length", "99"}, {"X-B", "two"}},
                        .body = "ok"};
  });
  return router;
}

class HttpServerTest : public testing::Test {
 protected:
  std::unique_ptr<HttpServer> server_ = start_server(test_router());
};

TEST_F(HttpServerTest, AnswersOnTheIoThreadAndOnWorkers) {
  const std::string answer = answer_of(*server_, get_and_close("/hello/a%20b"));
  EXPECT_THAT(answer,
              AllOf(StartsWith("HTTP/1.1 200 OK\r\n"), HasSubstr("\r\nContent-Length: 9\r\n"), HasSubstr("\r\nDate: "),
                    HasSubstr("\r\nConnection: close\r\n"), EndsWith("\r\n\r\nhello a b")));
  EXPECT_THAT(answer_of(*server_, get_and_close("/quick")), EndsWith("\r\n\r\nquick"));
}

TEST_F(HttpServerTest, TellsTheHandlerAboutTheRequest) {
  EXPECT_THAT(answer_of(*server_, "GET /query?q=a%2Bb+c HTTP/1.1\r\nHost: x\r\nX-Me: yes\r\nConnection: close\r\n\r\n"),
              EndsWith("\r\n\r\na+b c|127.0.0.1|plain|yes"));
}

TEST_F(HttpServerTest, KeepsConnectionsAlive) {
  RawConnection connection(port_of(*server_));
  for (int i = 0; i < 3; ++i) {
    connection.send("GET /hello/" + std::to_string(i) + " HTTP/1.1\r\nHost: x\r\n\r\n");
    EXPECT_THAT(connection.read_until("hello " + std::to_string(i)), Not(HasSubstr("Connection: close")));
  }
  EXPECT_EQ(server_->connections(), 1U);
  connection.close();
  EXPECT_TRUE(comes_true([&] { return server_->connections() == 0; }));
}

TEST_F(HttpServerTest, OldClientsGetTheConnectionClosed) {
  EXPECT_THAT(answer_of(*server_, "GET /quick HTTP/1.0\r\n\r\n"), EndsWith("\r\n\r\nquick"));
}

TEST_F(HttpServerTest, AnswersPipelinedRequestsInOrder) {
  std::string requests;
  std::string expected;
  for (int i = 0; i < 20; ++i) {
    // Slow and quick ones alternate.
    requests += i % 2 ? "GET /quick HTTP/1.1\r\nHost: x\r\n\r\n"
                      : "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n" + std::to_string(10 + i);
    expected += i % 2 ? "quick" : std::to_string(10 + i);
  }
  const std::string answer = answer_of(*server_, requests + get_and_close("/empty"));
  std::string bodies;
  std::string_view rest = answer;
  while (rest.find("\r\n\r\n") != std::string_view::npos) {
    rest.remove_prefix(rest.find("\r\n\r\n") + 4);
    bodies += rest.substr(0, rest.find("HTTP/1.1"));
  }
  EXPECT_EQ(bodies, expected);
}

TEST_F(HttpServerTest, TakesChunkedBodies) {
  EXPECT_THAT(answer_of(*server_,
                        "POST /echo HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
                        "3\r\nabc\r\n4\r\ndefg\r\n0\r\n\r\n"),
              EndsWith("\r\n\r\nabcdefg"));
}

TEST_F(HttpServerTest, SaysContinueOnlyIfTheBodyIsWelcome) {
  RawConnection connection(port_of(*server_));
  connection.send(
      "POST /echo HTTP/1.1\r\nHost: x\r\nConnection: close\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n");
  EXPECT_EQ(connection.read_until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  connection.send("body");
  EXPECT_THAT(connection.read_all(), AllOf(StartsWith("HTTP/1.1 200"), EndsWith("body")));

  const std::string expect = " HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2000000\r\n\r\n";
  EXPECT_THAT(answer_of(*server_, "POST /echo" + expect), StartsWith("HTTP/1.1 413"));
  EXPECT_THAT(answer_of(*server_, "POST /nowhere" + expect), StartsWith("HTTP/1.1 404"));
}

TEST_F(HttpServerTest, HeadHasTheLengthAndNoBody) {
  EXPECT_THAT(answer_of(*server_, "HEAD /quick HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"),
              AllOf(HasSubstr("Content-Length: 5\r\n"), EndsWith("\r\n\r\n")));
}

TEST_F(HttpServerTest, SaysWhatIsNotThere) {
  EXPECT_THAT(answer_of(*server_, get_and_close("/nowhere")), StartsWith("HTTP/1.1 404 Not Found\r\n"));
  EXPECT_THAT(answer_of(*server_, "DELETE /quick HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"),
              AllOf(StartsWith("HTTP/1.1 405 Method Not Allowed\r\n"), HasSubstr("\r\nAllow: GET, HEAD, OPTIONS\r\n")));
  EXPECT_THAT(answer_of(*server_, "OPTIONS /echo HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"),
              AllOf(StartsWith("HTTP/1.1 204 No Content\r\n"), HasSubstr("\r\nAllow: OPTIONS, POST\r\n")));
  EXPECT_THAT(answer_of(*server_, get_and_close("/../etc/passwd")), StartsWith("HTTP/1.1 400"));
}

TEST_F(HttpServerTest, A404KeepsTheConnection) {
  RawConnection connection(port_of(*server_));
  connection.send("GET /nowhere HTTP/1.1\r\nHost: x\r\n\r\nGET /quick HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(connection.read_until("quick"), StartsWith("HTTP/1.1 404"));
}

TEST_F(HttpServerTest, NoContentMeansNoBody) {
  const std::string answer = answer_of(*server_, get_and_close("/empty"));
  EXPECT_THAT(answer, AllOf(StartsWith("HTTP/1.1 204"), Not(HasSubstr("Content-Length")), EndsWith("\r\n\r\n")));
}

TEST_F(HttpServerTest, SendsLargeBodies) {
  const std::string answer = answer_of(*server_, get_and_close("/big"));
  EXPECT_EQ(answer.size() - answer.find("\r\n\r\n") - 4, 300'000U);
}

TEST_F(HttpServerTest, HeadersCannotBeInjected) {
  const std::string answer = answer_of(*server_, get_and_close("/bad-header"));
  EXPECT_THAT(answer, AllOf(Not(HasSubstr("Evil")), HasSubstr("X-B: two"), HasSubstr("Content-Length: 2\r\n")));
}

TEST_F(HttpServerTest, AFailingHandlerIsA500AndALogLine) {
  testing::internal::CaptureStderr();
  EXPECT_THAT(answer_of(*server_, get_and_close("/fail")), AllOf(StartsWith("HTTP/1.1 500 "), Not(HasSubstr("boom"))));
  EXPECT_THAT(answer_of(*server_, get_and_close("/fail-oddly")), StartsWith("HTTP/1.1 500 "));
  EXPECT_THAT(testing::internal::GetCapturedStderr(), AllOf(HasSubstr("GET /fail"), HasSubstr("boom")));
}

TEST_F(HttpServerTest, RefusesAmbiguousRequestsAndCloses) {
  const std::string smuggled = "GET /quick HTTP/1.1\r\nHost: x\r\n\r\n";
  for (const char* head :
       {"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n", "Content-Length: 3\r\nContent-Length: 3\r\n",
        "X: a\r\n folded\r\n", "Transfer-Encoding: identity, chunked\r\n"}) {
    const std::string answer =
        answer_of(*server_, "POST /echo HTTP/1.1\r\nHost: x\r\n" + std::string(head) + "\r\nabc" + smuggled);
    EXPECT_THAT(answer, AnyOf(StartsWith("HTTP/1.1 400"), StartsWith("HTTP/1.1 501"))) << head;
    EXPECT_EQ(count(answer, "HTTP/1.1"), 1U) << head;
  }
  EXPECT_THAT(answer_of(*server_, "GET / HTTP/1.1\nHost: x\n\n"), StartsWith("HTTP/1.1 400"));
}

TEST_F(HttpServerTest, SurvivesGarbage) {
  for (const std::string& garbage :
       {std::string("\0\0\0\r\n\r\n", 7), std::string("\x16\x03\x01\x00\xa5\x01\r\n\r\n", 10),
        std::string("hello\r\n\r\n"), std::string("\n")}) {
    EXPECT_THAT(answer_of(*server_, garbage), StartsWith("HTTP/1.1 400"));
  }
  EXPECT_THAT(answer_of(*server_, get_and_close("/quick")), EndsWith("quick"));
}

TEST_F(HttpServerTest, AClientThatLeavesInTheMiddleIsForgotten) {
  for (const char* part : {"", "GET /qu", "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nab"}) {
    RawConnection connection(port_of(*server_));
    connection.send(part);
    connection.close();
  }
  EXPECT_TRUE(comes_true([&] { return server_->connections() == 0; }));
  EXPECT_THAT(answer_of(*server_, get_and_close("/quick")), EndsWith("quick"));
}

TEST(HttpServer, Serves200ConnectionsAtOnce) {
  Router router;
  std::atomic<int> served = 0;
  router.get("/n", [&](const HttpRequest&) { return HttpResponse::text(200, std::to_string(++served)); });
  const auto server = start_server(std::move(router));
  std::vector<std::unique_ptr<RawConnection>> connections;
  for (int i = 0; i < 200; ++i) connections.push_back(std::make_unique<RawConnection>(port_of(*server)));
  EXPECT_TRUE(comes_true([&] { return server->connections() == 200; }));
  for (int round = 0; round < 2; ++round) {
    for (auto& connection : connections) ASSERT_TRUE(connection->send("GET /n HTTP/1.1\r\nHost: x\r\n\r\n"));
    for (auto& connection : connections) ASSERT_THAT(connection->read_until("\r\n\r\n"), StartsWith("HTTP/1.1 200"));
  }
  EXPECT_EQ(served, 400);
}

TEST(HttpServer, ABlockedHandlerDoesNotHoldUpOthers) {
  std::latch release(1);
  Router router;
  router.get("/blocked", [&](const HttpRequest&) {
    release.wait();
    return HttpResponse::text(200, "late");
  });
  router.get("/quick", [](const HttpRequest&) { return HttpResponse::text(200, "quick"); });
  const auto server = start_server(std::move(router), {.workers = 2});
  RawConnection blocked(port_of(*server));
  blocked.send(get_and_close("/blocked"));
  EXPECT_THAT(answer_of(*server, get_and_close("/quick")), EndsWith("quick"));
  release.count_down();
  EXPECT_THAT(blocked.read_all(), EndsWith("late"));
}

TEST(HttpServer, ListensOnSeveralAddresses) {
  const TemporaryFolder folder;
  ServerOptions options{.listen = {{.host = "127.0.0.1"}, {.host = "::1"}, {.socket_path = folder.path() / "s.sock"}}};
  auto server = HttpServer::start(options, test_router());
  if (!server) GTEST_SKIP() << "no IPv6 here: " << server.error().text();
  EXPECT_EQ((*server)->addresses().size(), 3U);
  EXPECT_NE((*server)->addresses()[0].port, 0);
  EXPECT_NE((*server)->addresses()[1].port, 0);
}

}  // namespace
}  // namespace assay
