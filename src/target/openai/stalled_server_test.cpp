#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <functional>
#include <thread>

#include "base/spawn.h"
#include "loadgen/dispatcher.h"
#include "loadgen/load_result.h"
#include "net/authority_fixture.h"
#include "net/http_message.h"
#include "net/router.h"
#include "net/server_fixture.h"
#include "net/server_options.h"
#include "requests/generated_requests.h"
#include "target/openai/openai_target.h"
#include "target/openai/stub_server_fixture.h"

// A server that is stopped dead while a load goes on: what its requests wait for is the server's delay, and none of the
// client's.

namespace assay {
namespace {

using namespace std::chrono_literals;

/// A server in a process of its own, which can be stopped.
class StoppableServer {
 public:
  /// `host` is called in the process: it starts the server and gives the URL; what it returns beside it lives on.
  using Host = std::function<std::pair<std::shared_ptr<void>, std::string>()>;
  explicit StoppableServer(const Host& host) {
    auto pipe = make_pipe().value();
    process_ = ::fork();
    if (process_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      const auto [server, url] = host();
      (void)write_all(pipe.write_end.get(), url + "\n").ok();
      for (;;) ::pause();
    }
    pipe.write_end.reset();
    for (char c = 0; ::read(pipe.read_end.get(), &c, 1) == 1 && c != '\n';) url_ += c;
  }
  StoppableServer(const StoppableServer&) = delete;
  StoppableServer& operator=(const StoppableServer&) = delete;
  ~StoppableServer() {
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
  }
  const std::string& url() const { return url_; }
  void stall(Nanos lasting) const {
    ::kill(process_, SIGSTOP);
    std::this_thread::sleep_for(lasting);
    ::kill(process_, SIGCONT);
  }

 private:
  pid_t process_ = -1;
  std::string url_;
};

/// A load by the clock on a server that stalls for three seconds in the middle of it.
LoadResult load_with_stall(const StoppableServer& server, OpenAiOptions options) {
  options.endpoints = {{.url = parse_url(server.url()).value()}};
  options.model = "m";
  options.check = false;
  options.connect_time = 60s;
  const std::shared_ptr<const RequestSet> requests =
      generate_requests({.seed = {1, "stall"}, .input = Lengths::fixed(12), .output = Lengths::fixed(5)}).value();
  const auto target = make_openai_target(std::move(options), requests).value();
  QueryRecorder recorder({});
  SpinningClock clock;
  SamplesInOrder order(100);
  ConstantArrivals arrivals(50);
  const LoadPlan plan{.scenario = Scenario::constant, .min_duration = 4s, .wishes = {.request_timeout = 60s}};
  std::jthread stalling([&] {
    while (recorder.issued() < 20) std::this_thread::sleep_for(1ms);
    server.stall(3s);
  });
  const auto ending = run_load(plan, {&arrivals, order, *target, recorder, clock}, {});
  EXPECT_TRUE(ending.ok()) << ending.error().text();
  // One second of lateness would be allowed: a busy machine is not late by that much.
  const LoadRules rules{.limits = {{LatencyMeasure::end_to_end, 0.99, 100s}}};
  return ending ? evaluate_load(plan, rules, recorder, *ending) : LoadResult();
}

void shows_the_stall_and_blames_nobody_else(const LoadResult& result) {
  EXPECT_EQ(result.success_rate, 1);
  EXPECT_GE(Nanos(result.end_to_end.p99), 2500ms);
  EXPECT_GE(Nanos(result.end_to_end.p90), 1500ms) << "three of four seconds were stalled";
  EXPECT_LT(Nanos(result.lateness.p99), 1s);
  for (const auto& flag : result.flags) EXPECT_NE(flag.kind, "client_late") << flag.message;
}

TEST(StalledServer, ThatTakesNoConnectionsIsNotALateClient) {
  const StoppableServer server([] {
    auto stub = std::make_shared<StubServer>(answer_well, 4);
    std::string url = stub->url();
    return std::pair<std::shared_ptr<void>, std::string>(std::move(stub), std::move(url));
  });
  shows_the_stall_and_blames_nobody_else(load_with_stall(server, {}));
}

TEST(StalledServer, ThatShakesNoHandsIsNotALateClient) {
  const TemporaryFolder folder;
  const TestAuthority authority;
  const TlsFiles files = authority.issue(folder.path() / "server.pem", "127.0.0.1");
  const StoppableServer server([&] {
    Router router;
    router.add("POST", "/v1/chat/completions", [](const HttpRequest&) {
      return HttpResponse::json(
          200, R"({"choices":[{"message":{"content":"hello"}}],"usage":{"completion_tokens":2,"prompt_tokens":1}})");
    });
    ServerOptions options;
    options.tls = files;
    std::shared_ptr<HttpServer> https = start_server(std::move(router), std::move(options));
    std::string url = fmt::format("https://127.0.0.1:{}/v1", port_of(*https));
    return std::pair<std::shared_ptr<void>, std::string>(std::move(https), std::move(url));
  });
  OpenAiOptions options;
  options.stream = false;
  options.ca_file = files.certificate;
  shows_the_stall_and_blames_nobody_else(load_with_stall(server, std::move(options)));
}

}  // namespace
}  // namespace assay
