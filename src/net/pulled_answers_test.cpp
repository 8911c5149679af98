// Bodies of answers that are made while they are sent, and clients that take them piece by piece.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <mutex>
#include <stdexcept>
#include <thread>

#include "net/body_fixture.h"
#include "net/client_messages.h"
#include "net/http_message.h"
#include "net/raw_connection_fixture.h"
#include "net/server_options.h"

namespace assay {
namespace {

using std::chrono::milliseconds;
using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr std::uint64_t kDownloadBytes = std::uint64_t{64} << 20;

ByteSink nowhere() {
  return [](std::string_view) { return Result<void>(); };
}

class PulledAnswers : public testing::TestWithParam<bool> {
 protected:
  void serve(PatternSource::Options source, std::uint64_t size, ServerOptions options = {}) {
    Router router;
    router.get("/many", [this, source, size](const HttpRequest&) {
      const auto made = std::make_shared<PatternSource>(size, source);
      const std::lock_guard lock(mutex_);
      last_ = made;
      return HttpResponse::pulled(made, "application/octet-stream");
    });
    router.get("/", [](const HttpRequest&) { return HttpResponse::text(200, "hello"); });
    served_.emplace(std::move(router), GetParam(), std::move(options));
  }
  HttpServer& server() { return served_->server(); }

  /// Of the last answer, until it is taken.
  std::shared_ptr<PatternSource> last(bool take = false) {
    const std::lock_guard lock(mutex_);
    return take ? std::exchange(last_, nullptr) : last_;
  }

  std::mutex mutex_;
  std::shared_ptr<PatternSource> last_;
  std::optional<BodyServer> served_;
};

using PlainAnswers = PulledAnswers;
INSTANTIATE_TEST_SUITE_P(Both, PulledAnswers, testing::Bool(), name_of_wire);
INSTANTIATE_TEST_SUITE_P(, PlainAnswers, testing::Values(false), name_of_wire);

TEST_P(PulledAnswers, ArriveWholeAndKeepTheConnection) {
  for (const bool length_known : {true, false}) {
    for (const std::uint64_t size : {0, 1, 300'000, 3'000'000}) {
      serve({.length_known = length_known}, size);
      const auto client = served_->client();
      for (int i = 0; i < 2; ++i) {
        Pattern::Check check;
        const auto got = client->receive({.target = "/many"}, check.sink());
        ASSERT_TRUE(got.ok()) << got.error().text();
        EXPECT_EQ(got->status, 200);
        EXPECT_EQ(got->body, "");
        EXPECT_EQ(check.taken(), size);
        EXPECT_EQ(got->headers.find("Content-Length").has_value(), length_known);
      }
      EXPECT_EQ(client->send({.target = "/many"})->body.size(), size) << "held whole, for who wants it so";
      EXPECT_EQ(server().connections(), 1U) << "the connection was not kept";
    }
  }
}

TEST_P(PulledAnswers, AClientThatDoesNotReadHoldsNoWorkerAndLittleMemory) {
  serve({}, kDownloadBytes, {.workers = 1});
  const auto client = served_->client();
  std::atomic<bool> wait = true;
  Pattern::Check check;
  Result<ClientResponse> got = Error{};
  std::jthread receiver([&] {
    got = client->receive({.target = "/many"}, [&](std::string_view piece) {
      while (wait) std::this_thread::sleep_for(milliseconds(1));
      return check.take(piece);
    });
  });
  std::uint64_t before = 0;
  ASSERT_TRUE(comes_true([&] {
    std::this_thread::sleep_for(milliseconds(100));
    const auto source = last();
    return source && source->given() > 0 && std::exchange(before, source->given()) == source->given();
  }));
  EXPECT_LT(last()->given(), kDownloadBytes / 2);
  EXPECT_EQ(served_->client()->send({.target = "/"})->body, "hello") << "the one worker is free";
  wait = false;
  receiver.join();
  ASSERT_TRUE(got.ok()) << got.error().text();
  EXPECT_EQ(check.taken(), kDownloadBytes);
}

TEST_P(PulledAnswers, AFailureInTheMiddleIsSeenByTheClient) {
  for (const bool length_known : {true, false}) {
    serve({.length_known = length_known, .fails_at = 1'000'000}, kDownloadBytes);
    Pattern::Check check;
    const auto failed = served_->client()->receive({.target = "/many"}, check.sink());
    ASSERT_FALSE(failed.ok());
    EXPECT_EQ(failed.error().kind, ErrorKind::lost_peer);
    EXPECT_LT(check.taken(), kDownloadBytes);
    EXPECT_TRUE(comes_true([&] { return server().connections() == 0; }));
  }
}

TEST_P(PulledAnswers, AnExceptionIsAFailure) {
  serve({.before_each = [] { throw std::runtime_error("unexpected"); }}, kDownloadBytes);
  EXPECT_EQ(served_->client()->receive({.target = "/many"}, nowhere()).error().kind, ErrorKind::lost_peer);
}

TEST_P(PulledAnswers, AreLetGoWhenTheClientLeaves) {
  serve({}, kDownloadBytes);
  const auto failed = served_->client()->receive({.target = "/many"}, [](std::string_view) -> Result<void> {
    return Error{.kind = ErrorKind::io, .message = "no space left"};
  });
  EXPECT_EQ(failed.error().kind, ErrorKind::io);
  EXPECT_THAT(failed.error().text(), EndsWith("no space left"));
  const std::weak_ptr<PatternSource> source = last(true);
  EXPECT_TRUE(comes_true([&] { return source.expired(); }));
  EXPECT_TRUE(comes_true([&] { return server().connections() == 0; }));
}

TEST_P(PulledAnswers, StoppingDoesNotWaitForThem) {
  serve({}, kDownloadBytes);
  const auto client = served_->client();
  std::atomic<bool> wait = true;
  std::jthread receiver([&] {
    EXPECT_FALSE(client
                     ->receive({.target = "/many"},
                               [&](std::string_view) -> Result<void> {
                                 while (wait) std::this_thread::sleep_for(milliseconds(1));
                                 return {};
                               })
                     .ok());
  });
  EXPECT_TRUE(comes_true([&] { return last() && last()->given() > 0; }));
  server().stop(milliseconds(20));
  EXPECT_EQ(server().connections(), 0U);
  wait = false;
}

TEST_P(PulledAnswers, AllClientsShareOneBudget) {
  // Room for one piece that is being made: everybody still gets everything, one after the other.
  serve({}, 3'000'000, {.limits = {.piece_bytes = 1000}});
  std::vector<std::jthread> clients;
  for (int i = 0; i < 6; ++i) {
    clients.emplace_back([this] {
      Pattern::Check check;
      const auto got = served_->client()->receive({.target = "/many"}, check.sink());
      EXPECT_TRUE(got.ok());
      EXPECT_EQ(check.taken(), 3'000'000U);
    });
  }
}

TEST_P(PulledAnswers, WhoWaitsForItsTurnCanBeStopped) {
  serve({}, kDownloadBytes, {.limits = {.piece_bytes = 1000}});
  std::atomic<bool> wait = true;
  const auto receive = [&] {
    EXPECT_FALSE(served_->client()
                     ->receive({.target = "/many"},
                               [&](std::string_view) -> Result<void> {
                                 while (wait) std::this_thread::sleep_for(milliseconds(1));
                                 return {};
                               })
                     .ok());
  };
  std::jthread first(receive);
  EXPECT_TRUE(comes_true([&] { return last() && last()->given() > 0; }));
  const auto source_of_first = last();
  std::jthread second(receive);
  EXPECT_TRUE(comes_true([&] { return last() != source_of_first; }));
  server().stop(milliseconds(20));
  EXPECT_EQ(server().connections(), 0U);
  wait = false;
}

TEST_P(PlainAnswers, ComeInChunksOrWithTheirLength) {
  serve({.length_known = false}, 5);
  EXPECT_THAT(answer_of(server(), get_and_close("/many")),
              AllOf(HasSubstr("Transfer-Encoding: chunked"), Not(HasSubstr("Content-Length")),
                    EndsWith("\r\n\r\n5\r\n" + std::string(Pattern::bytes(0, 5)) + "\r\n0\r\n\r\n")));
  EXPECT_THAT(answer_of(server(), "GET /many HTTP/1.0\r\n\r\n"),
              AllOf(Not(HasSubstr("chunked")), EndsWith("\r\n\r\n" + std::string(Pattern::bytes(0, 5)))));
  serve({}, 5);
  EXPECT_THAT(answer_of(server(), get_and_close("/many")),
              AllOf(HasSubstr("Content-Length: 5\r\n"), Not(HasSubstr("chunked")),
                    EndsWith("\r\n\r\n" + std::string(Pattern::bytes(0, 5)))));
  EXPECT_THAT(answer_of(server(), "HEAD /many HTTP/1.1\r\nHost: x\r\n\r\n" + get_and_close("/")),
              AllOf(HasSubstr("Content-Length: 5\r\n"), EndsWith("hello")));
  EXPECT_EQ(last()->given(), 0U) << "HEAD asks for no bytes";
}

TEST_P(PlainAnswers, AWrongPromiseOfLengthIsNotKeptQuiet) {
  class Liar : public ByteSource {
   public:
    explicit Liar(std::uint64_t promised) : promised_(promised) {}
    Result<std::optional<std::string>> next() override {
      return given_++ == 0 ? std::optional<std::string>("12345") : std::nullopt;
    }
    std::optional<std::uint64_t> length() const override { return promised_; }

   private:
    std::uint64_t promised_;
    int given_ = 0;
  };
  Router router;
  router.get("/more", [](const HttpRequest&) { return HttpResponse::pulled(std::make_shared<Liar>(4), "x/y"); });
  router.get("/less", [](const HttpRequest&) { return HttpResponse::pulled(std::make_shared<Liar>(6), "x/y"); });
  router.post("/take", [](const HttpRequest& request) { return HttpResponse::text(200, request.body); });
  served_.emplace(std::move(router), false);
  EXPECT_EQ(served_->client()->send({.target = "/more"}).error().kind, ErrorKind::lost_peer);
  EXPECT_EQ(served_->client()->send({.target = "/less"}).error().kind, ErrorKind::lost_peer);
  for (const std::uint64_t promised : {4, 6}) {
    const auto failed =
        served_->client()->send({.method = "POST", .target = "/take", .body_source = std::make_shared<Liar>(promised)});
    EXPECT_EQ(failed.error().kind, ErrorKind::internal);
  }
}

TEST_P(PlainAnswers, AreNotKeptForWhoDoesNotTakeThem) {
  serve({}, kDownloadBytes, {.limits = {.write_time = milliseconds(100)}});
  RawConnection lazy(port_of(server()), 4096);
  lazy.send(get_and_close("/many"));
  ASSERT_TRUE(comes_true([&] { return server().connections() == 1; }));
  EXPECT_TRUE(comes_true([&] { return server().connections() == 0; }));
}

TEST_P(PlainAnswers, MustBeTakenAtAPace) {
  serve({}, kDownloadBytes,
        {.limits = {.stream_bytes_per_second = std::size_t{1} << 30, .write_time = milliseconds(200)}});
  RawConnection slow(port_of(server()), 4096);
  slow.send(get_and_close("/many"));
  ASSERT_TRUE(comes_true([&] { return server().connections() == 1; }));
  EXPECT_TRUE(comes_true([&] {
    slow.read_some(1000);
    return server().connections() == 0;
  })) << "a trickle is not enough";
}

TEST_P(PlainAnswers, MayTakeLongerThanARequestAsLongAsBytesMove) {
  serve({.before_each = [] { std::this_thread::sleep_for(milliseconds(100)); }}, std::uint64_t{25} * 65'521);
  Pattern::Check check;
  const auto client = served_->client({.request_time = std::chrono::seconds(2)});
  const auto got = client->receive({.target = "/many"}, check.sink());
  ASSERT_TRUE(got.ok()) << got.error().text();
  EXPECT_EQ(check.taken(), std::uint64_t{25} * 65'521);
}

TEST_P(PlainAnswers, AreGivenUpWhenNothingMoves) {
  std::atomic<int> asked = 0;
  std::atomic<bool> hang = true;
  serve({.before_each =
             [&] {
               while (asked++ > 2 && hang) std::this_thread::sleep_for(milliseconds(1));
             }},
        kDownloadBytes);
  const auto stalled = served_->client({.request_time = milliseconds(100)})->receive({.target = "/many"}, nowhere());
  EXPECT_EQ(stalled.error().kind, ErrorKind::timeout);
  hang = false;
  served_.reset();  // the source looks at what ends here
}

TEST_P(PlainAnswers, OnlySuccessGoesToTheSink) {
  serve({}, 5);
  std::string taken;
  const auto got = served_->client()->receive({.target = "/nowhere"}, [&](std::string_view piece) -> Result<void> {
    taken += piece;
    return {};
  });
  ASSERT_TRUE(got.ok());
  EXPECT_EQ(got->status, 404);
  EXPECT_THAT(got->body, HasSubstr("nothing at this path"));
  EXPECT_EQ(taken, "");
}

}  // namespace
}  // namespace assay
