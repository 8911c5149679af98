#include "outlets/webhook/webhook.h"
#include "net/http_message.h"
#include "net/router.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <mutex>
#include <thread>
#include <vector>

#include "net/raw_connection_fixture.h"
#include "net/server_fixture.h"

namespace assay {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

/// A receiver of webhooks that answers as it is told, then 200, and keeps what came.
class Receiver {
 public:
  explicit Receiver(std::vector<int> statuses = {}) : statuses_(std::move(statuses)) {
    Router router;
    router.post("/hook/{rest...}", [this](const HttpRequest& request) { return answer(request); });
    server_ = start_server(std::move(router));
  }
  std::string url(const std::string& path = "/hook/x") const {
    return "http://127.0.0.1:" + std::to_string(port_of(*server_)) + path;
  }
  std::vector<HttpRequest> requests() {
    const std::lock_guard lock(mutex_);
    return requests_;
  }

 private:
  HttpResponse answer(const HttpRequest& request) {
    const std::lock_guard lock(mutex_);
    const int status = requests_.size() < statuses_.size() ? statuses_[requests_.size()] : 200;
    requests_.push_back(request);
    return HttpResponse::text(status, "");
  }

  const std::vector<int> statuses_;
  std::mutex mutex_;
  std::vector<HttpRequest> requests_;
  std::unique_ptr<HttpServer> server_;
};

Result<void> deliver(WebhookOptions options, const std::string& body = "{}", const std::stop_token& stop = {}) {
  options.first_pause = std::chrono::milliseconds(1);
  auto webhook = make_webhook(std::move(options));
  EXPECT_TRUE(webhook.ok()) << webhook.error().text();
  return (*webhook)->deliver(body, stop);
}

TEST(Webhook, PostsTheBodyToItsAddress) {
  Receiver receiver;
  ASSERT_TRUE(deliver({.url = receiver.url("/hook/team?key=1")}, R"({"text": "hot"})").ok());
  const auto requests = receiver.requests();
  ASSERT_THAT(requests, SizeIs(1));
  EXPECT_EQ(requests[0].target, "/hook/team?key=1");
  EXPECT_EQ(requests[0].headers.find("Content-Type"), "application/json");
  EXPECT_EQ(requests[0].body, R"({"text": "hot"})");
}

TEST(Webhook, TriesAgainAFewTimes) {
  Receiver receiver({500, 503});
  EXPECT_TRUE(deliver({.url = receiver.url(), .attempts = 3}).ok());
  EXPECT_THAT(receiver.requests(), SizeIs(3));
  Receiver broken({500, 500, 500});
  EXPECT_FALSE(deliver({.url = broken.url(), .attempts = 2}).ok());
  EXPECT_THAT(broken.requests(), SizeIs(2));
}

TEST(Webhook, OnlyAnAnswerThatSaysSoIsSuccess) {
  Receiver moved({302, 304, 199});
  EXPECT_FALSE(deliver({.url = moved.url(), .attempts = 2}).ok());
  EXPECT_THAT(moved.requests(), SizeIs(2));
}

TEST(Webhook, TheSecretPartOfItsAddressIsInNoWords) {
  Receiver broken({500});
  for (const std::string& url :
       {std::string("http://127.0.0.1:1/hook/hush?key=hush"), broken.url("/hook/hush?key=hush")}) {
    auto webhook = make_webhook({.url = url, .attempts = 1});
    ASSERT_TRUE(webhook.ok());
    EXPECT_THAT((*webhook)->name(), HasSubstr("127.0.0.1:"));
    const auto sent = (*webhook)->deliver("{}", {});
    ASSERT_FALSE(sent.ok());
    EXPECT_THAT((*webhook)->name() + sent.error().text(), testing::Not(HasSubstr("hush")));
  }
}

TEST(Webhook, AStopBreaksOffWhatHangs) {
  std::promise<void> release;
  const std::shared_future<void> released = release.get_future().share();
  std::promise<void> came;
  Router router;
  router.post("/hook", [&](const HttpRequest&) {
    came.set_value();
    released.wait();
    return HttpResponse::text(200, "");
  });
  const auto server = start_server(std::move(router));
  std::stop_source stop;
  auto sending = std::async(std::launch::async, [&] {
    return deliver(
        {.url = "http://127.0.0.1:" + std::to_string(port_of(*server)) + "/hook", .deadline = std::chrono::hours(1)},
        "{}", stop.get_token());
  });
  came.get_future().wait();
  stop.request_stop();
  EXPECT_FALSE(sending.get().ok());
  release.set_value();
}

TEST(Webhook, AnAddressThatIsNoneIsRefusedAtTheStart) {
  for (const char* url : {"", "hooks.example.org", "ftp://example.org", "unix:/tmp/socket"}) {
    const auto webhook = make_webhook({.url = url});
    ASSERT_FALSE(webhook.ok()) << url;
    EXPECT_EQ(webhook.error().kind, ErrorKind::usage) << url;
  }
}

}  // namespace
}  // namespace assay
