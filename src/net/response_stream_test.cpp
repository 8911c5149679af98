#include "net/response_stream.h"
#include "net/http_message.h"
#include "net/raw_connection_fixture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <thread>
#include <vector>

#include "net/router.h"
#include "net/server_fixture.h"
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
using State = ResponseStream::State;

/// Everything that is queued.
State take(ResponseStream& stream, std::string& bytes) {
  std::vector<ResponseStream::Piece> pieces;
  const State state = stream.take(pieces);
  bytes.clear();
  for (const auto& piece : pieces) bytes += *piece;
  return state;
}

TEST(ResponseStream, HandsOverWhatWasWritten) {
  ResponseStream stream;
  int woken = 0;
  stream.attach([&] { ++woken; });
  EXPECT_TRUE(stream.write("a"));
  EXPECT_TRUE(stream.write("b"));
  EXPECT_EQ(woken, 1) << "one wake-up is enough until it was taken";
  std::string bytes;
  EXPECT_EQ(take(stream, bytes), State::feeding);
  EXPECT_EQ(bytes, "ab");
  EXPECT_TRUE(stream.write("c"));
  stream.finish();
  EXPECT_FALSE(stream.write("d"));
  EXPECT_EQ(take(stream, bytes), State::finished);
  EXPECT_EQ(bytes, "c");
  EXPECT_EQ(woken, 3);
}

TEST(ResponseStream, SeveralMayWaitForTheSameBytes) {
  const auto shared = std::make_shared<const std::string>(1000, 's');
  ResponseStream one({.queue_bytes = 1500}), other({.queue_bytes = 1500});
  for (auto* stream : {&one, &other}) {
    EXPECT_TRUE(stream->write("a"));
    EXPECT_TRUE(stream->write(shared));
    EXPECT_TRUE(stream->write("b"));
    EXPECT_TRUE(stream->write("c"));
  }
  EXPECT_EQ(shared.use_count(), 3) << "there are no copies";
  EXPECT_FALSE(other.write(shared)) << "for each it counts against its own limit";
  EXPECT_EQ(shared.use_count(), 2);
  std::vector<ResponseStream::Piece> pieces;
  EXPECT_EQ(one.take(pieces), State::feeding);
  ASSERT_EQ(pieces.size(), 3U) << "short writes go together";
  EXPECT_EQ(*pieces[0] + *pieces[2], "abc");
  EXPECT_EQ(pieces[1], shared);
  EXPECT_TRUE(one.write("d"));
  EXPECT_EQ(*pieces[2], "bc") << "what was taken stays as it was";
}

TEST(ResponseStream, CutsOffWhoDoesNotTake) {
  ResponseStream stream({.queue_bytes = 10});
  int ended = 0;
  stream.on_end([&] { ++ended; });
  EXPECT_TRUE(stream.write("0123456789"));
  EXPECT_FALSE(stream.write("x"));
  EXPECT_FALSE(stream.open());
  EXPECT_EQ(ended, 1);
  std::string bytes;
  EXPECT_EQ(take(stream, bytes), State::cut_off);
  EXPECT_EQ(bytes, "");
  stream.detach();
  EXPECT_EQ(ended, 1);
  stream.on_end([&] { ++ended; });
  EXPECT_EQ(ended, 2) << "over already: told at once";
}

/// A server with an event stream at /events whose feeder the test holds.
class StreamingServer {
 public:
  explicit StreamingServer(std::size_t queue_bytes = 1 << 20, Nanos heartbeat = std::chrono::seconds(15),
                           HttpLimits limits = {})
      : events(queue_bytes, heartbeat) {
    Router router;
    events.on_end([this] { ended = true; });
    router.get("/events",
               [this](const HttpRequest&) { return HttpResponse::streaming(events.stream(), "text/event-stream"); });
    server = start_server(std::move(router), {.limits = limits});
  }
  EventStream events;
  std::atomic<bool> ended = false;
  std::unique_ptr<HttpServer> server;
};

const std::string kAsk = "GET /events HTTP/1.1\r\nHost: x\r\n\r\n";

TEST(Streaming, SendsEventsInChunksWhileTheyHappen) {
  StreamingServer streaming;
  RawConnection client(port_of(*streaming.server));
  client.send(kAsk);
  const std::string head = client.read_until("\r\n\r\n");
  EXPECT_THAT(head, AllOf(StartsWith("HTTP/1.1 200"), HasSubstr("Transfer-Encoding: chunked"),
                          HasSubstr("Content-Type: text/event-stream"), Not(HasSubstr("Content-Length"))));
  EXPECT_TRUE(streaming.events.send({.event = "step", .data = "1"}));
  EXPECT_THAT(client.read_until("data: 1\n\n"), HasSubstr("15\r\nevent: step\ndata: 1\n\n"));
  EXPECT_TRUE(streaming.events.send({.data = "2"}));
  EXPECT_THAT(client.read_until("data: 2\n\n"), HasSubstr("data: 2\n\n"));
  streaming.events.finish();
  EXPECT_THAT(client.read_all(), EndsWith("0\r\n\r\n"));
  EXPECT_TRUE(client.closed());
  EXPECT_TRUE(streaming.ended);
}

TEST(Streaming, LongPiecesAreChunksAsWell) {
  StreamingServer streaming(std::size_t{1} << 20);
  const auto piece = std::make_shared<const std::string>(std::size_t{200} << 10, 'x');
  EXPECT_TRUE(streaming.events.send(piece));
  EXPECT_TRUE(streaming.events.send({.data = "2"}));
  EXPECT_TRUE(streaming.events.send(piece));
  streaming.events.finish();
  const std::string answer = answer_of(*streaming.server, kAsk);
  const std::string chunk = "32000\r\n" + *piece + "\r\n";
  EXPECT_EQ(answer.substr(answer.find("\r\n\r\n") + 4), chunk + "9\r\ndata: 2\n\n\r\n" + chunk + "0\r\n\r\n");
}

TEST(Streaming, OldClientsGetItWithoutChunks) {
  StreamingServer streaming;
  streaming.events.send({.data = "x"});
  streaming.events.finish();
  EXPECT_THAT(answer_of(*streaming.server, "GET /events HTTP/1.0\r\n\r\n"),
              AllOf(EndsWith("\r\n\r\ndata: x\n\n"), Not(HasSubstr("chunked"))));
}

TEST(Streaming, HeadEndsTheStream) {
  StreamingServer streaming;
  EXPECT_THAT(answer_of(*streaming.server, "HEAD /events HTTP/1.1\r\nHost: x\r\n\r\n"), EndsWith("\r\n\r\n"));
  EXPECT_TRUE(comes_true([&] { return streaming.ended.load(); }));
}

TEST(Streaming, TellsTheFeederThatTheClientHasLeft) {
  StreamingServer streaming;
  {
    RawConnection client(port_of(*streaming.server));
    client.send(kAsk);
    client.read_until("\r\n\r\n");
  }
  EXPECT_TRUE(comes_true([&] { return streaming.ended.load(); }));
  EXPECT_FALSE(streaming.events.send({.data = "x"}));
  EXPECT_TRUE(comes_true([&] { return streaming.server->connections() == 0; }));
}

TEST(Streaming, CutsOffASlowClient) {
  StreamingServer streaming(100'000);
  RawConnection client(port_of(*streaming.server), 4096);
  client.send(kAsk);
  client.read_until("\r\n\r\n");
  // The client takes nothing: first the socket's buffers fill, then the queue.
  const std::string data(10'000, 'x');
  EXPECT_TRUE(comes_true([&] { return !streaming.events.send({.data = data}); }));
  EXPECT_TRUE(streaming.ended);
  EXPECT_TRUE(comes_true([&] { return streaming.server->connections() == 0; })) << "the connection is still held";
  EXPECT_THAT(client.read_all(), Not(EndsWith("0\r\n\r\n"))) << "must not look like a proper end";
}

TEST(Streaming, BeatsWhenNothingHappens) {
  StreamingServer streaming(1 << 20, milliseconds(20));
  RawConnection client(port_of(*streaming.server));
  client.send(kAsk);
  EXPECT_THAT(client.read_until("3\r\n:\n\n\r\n3\r\n:\n\n\r\n"), HasSubstr("3\r\n:\n\n\r\n3\r\n:\n\n\r\n"));
}

TEST(Streaming, OutlastsTheLimitsOfOrdinaryRequests) {
  const Nanos brief = milliseconds(30);
  StreamingServer streaming(1 << 20, std::chrono::seconds(15),
                            {.header_time = brief, .idle_time = brief, .body_time = brief, .write_time = brief});
  RawConnection client(port_of(*streaming.server));
  client.send(kAsk);
  client.read_until("\r\n\r\n");
  std::this_thread::sleep_for(milliseconds(150));
  EXPECT_TRUE(streaming.events.send({.data = "late"}));
  EXPECT_THAT(client.read_until("late"), HasSubstr("late"));
}

TEST(Streaming, ManyThreadsFeedOneClient) {
  StreamingServer streaming;
  RawConnection client(port_of(*streaming.server));
  client.send(kAsk);
  client.read_until("\r\n\r\n");
  {
    std::vector<std::jthread> feeders;
    for (int t = 0; t < 4; ++t) {
      feeders.emplace_back([&] {
        for (int i = 0; i < 100; ++i) EXPECT_TRUE(streaming.events.send({.data = "tick"}));
      });
    }
  }
  streaming.events.finish();
  const std::string all = client.read_all();
  std::size_t ticks = 0;
  for (auto at = all.find("data: tick\n\n"); at != std::string::npos; at = all.find("data: tick\n\n", at + 1)) ++ticks;
  EXPECT_EQ(ticks, 400U);
}

TEST(Stopping, LetsARequestInFlightFinish) {
  std::latch begun(1);
  std::latch release(1);
  Router router;
  router.get("/slow", [&](const HttpRequest&) {
    begun.count_down();
    release.wait();
    return HttpResponse::text(200, "finished");
  });
  const auto server = start_server(std::move(router));
  RawConnection idle(port_of(*server));
  RawConnection busy(port_of(*server));
  busy.send("GET /slow HTTP/1.1\r\nHost: x\r\n\r\n");
  begun.wait();
  server->request_stop(std::chrono::seconds(60));
  EXPECT_EQ(idle.read_all(), "") << "an idle connection ends at once";
  EXPECT_FALSE(RawConnection(port_of(*server)).connected()) << "nobody is let in any more";
  release.count_down();
  EXPECT_THAT(busy.read_all(), AllOf(HasSubstr("Connection: close"), EndsWith("finished")));
  server->wait();
  EXPECT_EQ(server->connections(), 0U);
}

TEST(Stopping, EndsStreamsProperly) {
  StreamingServer streaming;
  RawConnection client(port_of(*streaming.server));
  client.send(kAsk);
  client.read_until("\r\n\r\n");
  streaming.events.send({.data = "last"});
  std::jthread stopper([&] { streaming.server->stop(std::chrono::seconds(60)); });
  EXPECT_THAT(client.read_all(), AllOf(HasSubstr("data: last"), EndsWith("0\r\n\r\n")));
  client.close();
  stopper.join();
  EXPECT_TRUE(streaming.ended);
}

TEST(Stopping, BreaksOffWhatDoesNotEndInTime) {
  Router router;
  router.post("/", [](const HttpRequest&) { return HttpResponse::text(200, "ok"); });
  const auto server = start_server(std::move(router));
  RawConnection hanging(port_of(*server));
  hanging.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n");
  EXPECT_TRUE(comes_true([&] { return server->connections() == 1; }));
  server->stop(milliseconds(20));
  EXPECT_EQ(server->connections(), 0U);
  EXPECT_EQ(hanging.read_all(), "");
}

TEST(Stopping, AHandlerMayAskForIt) {
  Router router;
  HttpServer* self = nullptr;
  router.post("/stop", [&](const HttpRequest&) {
    self->request_stop(std::chrono::seconds(10));
    return HttpResponse::text(200, "stopping");
  });
  const auto server = start_server(std::move(router));
  self = server.get();
  EXPECT_THAT(answer_of(*server, "POST /stop HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n"), EndsWith("stopping"));
  server->wait();
}

TEST(Stopping, SeveralThreadsMayStop) {
  const auto server = start_server(Router());
  std::vector<std::jthread> threads;
  for (int i = 0; i < 3; ++i) threads.emplace_back([&] { server->stop(); });
}

TEST(Stopping, TheFeederMayOutliveTheServer) {
  StreamingServer streaming;
  RawConnection client(port_of(*streaming.server));
  client.send(kAsk);
  client.read_until("\r\n\r\n");
  streaming.server.reset();
  EXPECT_FALSE(streaming.events.send({.data = "x"}));
}

}  // namespace
}  // namespace assay
