#include "leader/outlets.h"

#include <atomic>
#include <condition_variable>
#include <future>

#include "leader/leader_fixture.h"
#include "net/raw_connection.h"
#include "net/server_fixture.h"

namespace assay {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

constexpr Nanos kPatience = std::chrono::seconds(10);

Alert overheating() {
  return {.id = "a-1",
          .rule = "overheating",
          .severity = AlertSeverity::critical,
          .node = "gpu01",
          .about = "GPU-1",
          .what = "GPU 0 is at 91 °C.",
          .remedy = "Look at its fan."};
}

/// A receiver of webhooks that answers as it is told and keeps what came.
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
  /// Waits for so many; fewer if they do not come.
  std::vector<HttpRequest> wait_for(std::size_t count) {
    std::unique_lock lock(mutex_);
    came_.wait_for(lock, kPatience, [&] { return requests_.size() >= count; });
    return requests_;
  }

 private:
  HttpResponse answer(const HttpRequest& request) {
    const std::lock_guard lock(mutex_);
    const int status = requests_.size() < statuses_.size() ? statuses_[requests_.size()] : 200;
    requests_.push_back(request);
    came_.notify_all();
    return HttpResponse::text(status, "");
  }

  const std::vector<int> statuses_;
  std::mutex mutex_;
  std::condition_variable came_;
  std::vector<HttpRequest> requests_;
  std::unique_ptr<HttpServer> server_;
};

std::unique_ptr<Outlets> start(OutletOptions options) {
  options.first_pause = std::chrono::milliseconds(1);
  auto outlets = Outlets::start(std::move(options));
  EXPECT_TRUE(outlets.ok()) << outlets.error().text();
  return outlets ? std::move(*outlets) : nullptr;
}

TEST(Outlets, TheBodySaysItInWordsAndInFields) {
  const auto raised = parsed(outlet_body("raised", overheating()));
  EXPECT_EQ(raised.at("change").as_string(), "raised");
  EXPECT_EQ(raised.at("text").as_string(), "critical on gpu01: GPU 0 is at 91 °C. Look at its fan.");
  EXPECT_EQ(raised.at("alert").at("rule").as_string(), "overheating");
  EXPECT_EQ(parsed(outlet_body("resolved", overheating())).at("text").as_string(),
            "Resolved on gpu01: GPU 0 is at 91 °C.");
}

TEST(Outlets, AWebhookGetsTheAlert) {
  Receiver receiver;
  const auto outlets = start({.webhooks = {receiver.url("/hook/team?key=1")}});
  outlets->send("raised", overheating());
  const auto requests = receiver.wait_for(1);
  ASSERT_THAT(requests, SizeIs(1));
  EXPECT_EQ(requests[0].target, "/hook/team?key=1");
  EXPECT_EQ(requests[0].headers.find("Content-Type"), "application/json");
  EXPECT_EQ(requests[0].body, outlet_body("raised", overheating()));
}

TEST(Outlets, AWebhookThatFailsIsTriedAgain) {
  Receiver receiver({500, 503});
  const auto outlets = start({.webhooks = {receiver.url()}, .attempts = 3});
  outlets->send("raised", overheating());
  outlets->send("resolved", overheating());
  const auto requests = receiver.wait_for(4);
  ASSERT_THAT(requests, SizeIs(4));
  EXPECT_EQ(requests[0].body, requests[2].body);
  EXPECT_THAT(requests[3].body, HasSubstr("resolved")) << "the next one waits for its turn";
}

TEST(Outlets, AWebhookIsGivenUpAndTheOthersStillGetIt) {
  Receiver broken({500, 500, 500, 500, 500, 500});
  Receiver works;
  const auto outlets = start({.webhooks = {broken.url(), works.url()}, .attempts = 2});
  outlets->send("raised", overheating());
  EXPECT_THAT(works.wait_for(1), SizeIs(1));
  EXPECT_THAT(broken.wait_for(2), SizeIs(2));
}

TEST(Outlets, OnlyAnAnswerThatSaysSoIsSuccess) {
  Receiver moved({302, 304});
  const auto outlets = start({.webhooks = {moved.url()}, .attempts = 3});
  outlets->send("raised", overheating());
  EXPECT_THAT(moved.wait_for(3), SizeIs(3));
}

TEST(Outlets, TheSecretPartOfAnAddressIsNotInTheLog) {
  testing::internal::CaptureStderr();
  Receiver broken({500}), works;
  {
    const auto outlets = start({.webhooks = {"http://127.0.0.1:1/hook/hush?key=hush", broken.url("/hook/hush?key=hush"),
                                             works.url("/hook/hush")},
                                .attempts = 1});
    outlets->send("raised", overheating());
    works.wait_for(1);  // the others had their turn
  }
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_THAT(log, HasSubstr("did not reach 127.0.0.1:1: "));
  EXPECT_THAT(log, HasSubstr("it answered 500 Internal Server Error"));
  EXPECT_THAT(log, testing::Not(HasSubstr("hush")));
}

TEST(Outlets, TheEndWaitsNeitherForAnAnswerNorForWhatIsLeft) {
  std::promise<void> release;
  const std::shared_future<void> released = release.get_future().share();
  std::atomic<int> came = 0;
  Router router;
  router.post("/hook", [&](const HttpRequest&) {
    ++came;
    released.wait();
    return HttpResponse::text(200, "");
  });
  const auto server = start_server(std::move(router));
  TemporaryFolder folder;
  const fs::path log = folder.path() / "commands";
  auto outlets = start({.webhooks = {"http://127.0.0.1:" + std::to_string(port_of(*server)) + "/hook"},
                        .command = {"/bin/sh", "-c", "echo x >> " + log.string()},
                        .deadline = std::chrono::hours(1)});
  for (int i = 0; i < 10; ++i) outlets->send("raised", overheating());
  EXPECT_TRUE(comes_true([&] { return came == 1; }));
  outlets.reset();
  release.set_value();
  EXPECT_EQ(came, 1);
  EXPECT_EQ(read_file(log).value_or(""), "x\n") << "the others were not begun";
}

TEST(Outlets, ACommandGetsTheAlertOnItsInput) {
  TemporaryFolder folder;
  const std::string file = (folder.path() / "alert").string();
  {
    Receiver receiver;
    const auto outlets =
        start({.webhooks = {receiver.url()},
               .command = {"/bin/sh", "-c", "cat > " + file + ".part && mv " + file + ".part " + file}});
    outlets->send("raised", overheating());
    outlets->send("raised", overheating());
    receiver.wait_for(2);  // the first command is over then
  }
  EXPECT_EQ(read_file(file).value_or(""), outlet_body("raised", overheating()));
}

TEST(Outlets, ACommandThatFailsHoldsUpNothing) {
  Receiver receiver;
  const auto outlets = start({.webhooks = {receiver.url()}, .command = {"/no/such/program"}});
  outlets->send("raised", overheating());
  outlets->send("resolved", overheating());
  EXPECT_THAT(receiver.wait_for(2), SizeIs(2));
}

TEST(Outlets, WhatWaitsHasAMost) {
  std::promise<void> release;
  const std::shared_future<void> released = release.get_future().share();
  std::atomic<std::size_t> came = 0;
  Router router;
  router.post("/hook", [&](const HttpRequest&) {
    ++came;
    released.wait();
    return HttpResponse::text(200, "");
  });
  const auto server = start_server(std::move(router));
  auto outlets = start({.webhooks = {"http://127.0.0.1:" + std::to_string(port_of(*server)) + "/hook"}});
  outlets->send("raised", overheating());
  for (int i = 0; i < 1000 && came == 0; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  ASSERT_EQ(came, 1u);
  for (std::size_t i = 0; i < Outlets::kMaxWaiting + 10; ++i) outlets->send("raised", overheating());
  release.set_value();
  // What still waits when it ends is dropped; so wait for all that can come.
  for (int i = 0; i < 1000 && came < 1 + Outlets::kMaxWaiting; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  outlets.reset();
  EXPECT_EQ(came, 1 + Outlets::kMaxWaiting);
}

TEST(Outlets, WithoutOutletsNothingHappens) {
  const auto outlets = start({});
  outlets->send("raised", overheating());
}

TEST(Outlets, AnAddressThatIsNoneIsRefusedAtTheStart) {
  for (const char* url : {"", "hooks.example.org", "ftp://example.org", "unix:/tmp/socket"}) {
    const auto outlets = Outlets::start({.webhooks = {url}});
    ASSERT_FALSE(outlets.ok()) << url;
    EXPECT_EQ(outlets.error().kind, ErrorKind::usage) << url;
  }
}

}  // namespace
}  // namespace assay
