#include "target/openai/openai_target.h"
#include "net/http_message.h"
#include "net/router.h"
#include "net/server_options.h"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <thread>

#include "net/authority_fixture.h"
#include "net/server_fixture.h"
#include "requests/generated_requests.h"
#include "requests/request_file.h"
#include "target/openai/stub_server_fixture.h"
#include "target/target_contract.h"

namespace assay {
namespace {

using testing::HasSubstr;
using namespace std::chrono_literals;

OpenAiOptions options_for(const std::string& url) {
  OpenAiOptions options;
  options.endpoints = {{.url = parse_url(url).value()}};
  options.model = "m";
  options.check = false;
  return options;
}

std::shared_ptr<const RequestSet> some_requests() {
  return generate_requests({.seed = {1, "test"}, .input = Lengths::fixed(12), .output = Lengths::fixed(5)}).value();
}

std::unique_ptr<Target> target_for(OpenAiOptions options) {
  return make_openai_target(std::move(options), some_requests()).value();
}

class StubPlace final : public TargetPlace {
 public:
  StubPlace(StubServer::Handler handler, bool check, unsigned threads = 1) : server_(std::move(handler)) {
    auto options = options_for(server_.url());
    options.check = check;
    options.threads = threads;
    target_ = target_for(std::move(options));
  }
  Target& target() override { return *target_; }

 private:
  StubServer server_;
  std::unique_ptr<Target> target_;
};

bool never_answer(StubPeer& peer, const StubServer::Request&) {
  peer.stay_silent();
  return false;
}

TargetFactory factory(std::string name, unsigned threads) {
  return {.name = std::move(name),
          .answering = [=] { return std::make_unique<StubPlace>(answer_well, true, threads); },
          .silent = [=] { return std::make_unique<StubPlace>(never_answer, false, threads); }};
}
INSTANTIATE_TEST_SUITE_P(OpenAi, TargetContract, testing::Values(factory("OneLoop", 1), factory("ThreeLoops", 3)),
                         target_factory_name);

/// Puts `count` requests to a server and waits for what becomes of them.
class Load {
 public:
  explicit Load(OpenAiOptions options, TargetWishes wishes = {}) : target_(target_for(std::move(options))) {
    const auto started = target_->start(sink_, wishes);
    EXPECT_TRUE(started.ok()) << (started.ok() ? "" : started.error().text());
  }
  void send(std::size_t count) {
    std::vector<Request> requests(count);
    for (Request& request : requests) request = {.id = sent_++, .scheduled = now()};
    target_->issue(requests);
    EXPECT_TRUE(sink_.wait_for(sent_));
  }
  std::map<std::uint64_t, CollectingSink::Kept> stop() {
    target_->stop(now() + 20s);
    for (const auto& [id, times] : sink_.reports()) EXPECT_EQ(times, 1) << id;
    return sink_.kept();
  }
  json::object facts() const { return target_->facts(); }

 private:
  static SteadyTime now() { return std::chrono::time_point_cast<Nanos>(std::chrono::steady_clock::now()); }

  CollectingSink sink_;
  std::unique_ptr<Target> target_;
  std::uint64_t sent_ = 0;
};

TEST(OpenAiTarget, KeepsConnectionsAndCountsTokensAsTheServerDoes) {
  StubServer server(answer_well);
  Load load(options_for(server.url()), {.texts = true});
  for (int i = 0; i < 20; ++i) load.send(1);
  const auto kept = load.stop();
  EXPECT_EQ(server.requests(), 20);
  // The first connection only asks whether somebody listens.
  EXPECT_LE(server.connections(), 2);
  for (const auto& [id, report] : kept) {
    EXPECT_EQ(report.completion.outcome, RequestOutcome::ok);
    EXPECT_EQ(report.completion.output_tokens, 5U);
    EXPECT_EQ(report.completion.input_tokens, 3U);
    EXPECT_EQ(report.text, "word word word word word ");
  }
  EXPECT_EQ(load.facts().at("token_counts").at("by_server"), 20U);
}

TEST(OpenAiTarget, SendsWhatWasAskedFor) {
  std::mutex mutex;
  std::string head;
  std::string body;
  StubServer server([&](StubPeer& peer, const StubServer::Request& request) {
    const std::lock_guard lock(mutex);
    head = request.head;
    body = request.body;
    return answer_well(peer, request);
  });
  auto options = options_for(server.url());
  options.token = "secret-token";
  options.headers = {{"X-Tenant", "a"}};
  options.ignore_eos = true;
  options.extra_body = {{"top_p", 0.5}, {"temperature", 0.7}, {"stream", false}, {"max_tokens", 999}};
  options.api = OpenAiOptions::Api::completions;
  Load load(options);
  load.send(1);
  load.stop();
  EXPECT_THAT(head, HasSubstr("POST /v1/completions HTTP/1.1\r\n"));
  EXPECT_THAT(head, HasSubstr("\r\nAuthorization: Bearer secret-token\r\n"));
  EXPECT_THAT(head, HasSubstr("\r\nX-Tenant: a\r\n"));
  const auto sent = parse_json(body).value();
  EXPECT_EQ(sent.at("model"), "m");
  EXPECT_EQ(sent.at("max_tokens"), 5);
  EXPECT_EQ(sent.at("temperature"), 0.7);
  EXPECT_EQ(sent.at("top_p"), 0.5);
  EXPECT_EQ(sent.at("ignore_eos"), true);
  EXPECT_EQ(sent.at("stream"), true);
  EXPECT_EQ(sent.at("stream_options").at("include_usage"), true);
  EXPECT_EQ(std::count(std::begin(sent.at("prompt").as_string()), std::end(sent.at("prompt").as_string()), ' '), 11);
  EXPECT_THAT(json::serialize(load.facts()), testing::Not(HasSubstr("secret-token")));
}

TEST(OpenAiTarget, ChatsWithTheMessagesOfAFile) {
  std::string body;
  StubServer server([&](StubPeer& peer, const StubServer::Request& request) {
    body = request.body;
    return answer_well(peer, request);
  });
  const std::shared_ptr<const RequestSet> set =
      parse_request_lines(
          R"({"messages":[{"role":"system","content":"a \"b\"\n\u00e9"},{"role":"user","content":"c"}]})", "f", 3)
          .value();
  auto target = make_openai_target(options_for(server.url()), set).value();
  CollectingSink sink;
  ASSERT_TRUE(target->start(sink, {}).ok());
  const Request request{.id = 7, .scheduled = std::chrono::steady_clock::now()};
  target->issue({&request, 1});
  EXPECT_TRUE(sink.wait_for(1));
  target->stop({});
  const auto sent = parse_json(body).value();
  EXPECT_EQ(sent.at("messages").at(0).at("content"), "a \"b\"\né");
  EXPECT_EQ(sent.at("messages").at(1).at("role"), "user");
}

struct Hostile {
  std::string name;
  StubServer::Handler handler;
  RequestOutcome outcome;
  RequestError error = RequestError::none;
};
void PrintTo(const Hostile& hostile, std::ostream* out) { *out << hostile.name; }

StubServer::Handler sends(std::string bytes, bool stays = false) {
  return [=](StubPeer& peer, const StubServer::Request&) {
    peer.send(bytes);
    if (stays) peer.stay_silent();
    return false;
  };
}

bool reset_at_once(StubPeer& peer, const StubServer::Request&) {
  peer.reset();
  return false;
}

bool drip(StubPeer& peer, const StubServer::Request&) {
  const std::string answer = kStubStreamHead + stub_token("a");
  for (std::size_t i = 0; i < answer.size() && !peer.stopping(); ++i) {
    if (!peer.send(answer.substr(i, 1))) return false;
    std::this_thread::sleep_for(50ms);
  }
  return false;
}

bool endless_body(StubPeer& peer, const StubServer::Request&) {
  std::string many = kStubStreamHead;
  for (int i = 0; i < 1000; ++i) many += stub_event("{\"choices\":[]}");
  while (!peer.stopping() && peer.send(many)) many.erase(0, many.starts_with("HTTP") ? kStubStreamHead.size() : 0);
  return false;
}

class HostileServer : public testing::TestWithParam<Hostile> {};
TEST_P(HostileServer, LosesNoRequestAndHangsNobody) {
  StubServer server(GetParam().handler);
  // Long where the server is to be heard, short where its silence is.
  const bool is_timeout = GetParam().outcome == RequestOutcome::timeout;
  const Nanos patience = is_timeout ? 300ms : GetParam().outcome == RequestOutcome::ok ? 2s : 60s;
  Load load(options_for(server.url()), {.request_timeout = patience, .token_times = true, .texts = true});
  load.send(8);
  load.send(4);
  const auto kept = load.stop();
  EXPECT_EQ(kept.size(), 12U);
  for (const auto& [id, report] : kept) {
    EXPECT_EQ(name_of(report.completion.outcome), name_of(GetParam().outcome)) << id;
    EXPECT_EQ(name_of(report.completion.error), name_of(GetParam().error)) << id;
  }
}
INSTANTIATE_TEST_SUITE_P(
    Each, HostileServer,
    testing::Values(
        Hostile{"Garbage", sends("\x16\x03\x01\x02hello\r\n\r\n"), RequestOutcome::error, RequestError::malformed},
        Hostile{"HalfAChunk", sends(kStubStreamHead + "ff\r\ndata: {\"choi"), RequestOutcome::error,
                RequestError::disconnected},
        Hostile{"ClosesAtOnce", sends(""), RequestOutcome::error, RequestError::disconnected},
        Hostile{"Resets", reset_at_once, RequestOutcome::error, RequestError::disconnected},
        Hostile{"Fails", sends(stub_answer(500, "oh")), RequestOutcome::error, RequestError::server},
        Hostile{"IsBusy", sends(stub_answer(429, "slow")), RequestOutcome::error, RequestError::overloaded},
        Hostile{"Refuses", sends(stub_answer(400, "no")), RequestOutcome::error, RequestError::rejected},
        Hostile{"NeverAnswers", never_answer, RequestOutcome::timeout},
        Hostile{"StopsInTheMiddle", sends(kStubStreamHead + stub_token("a"), true), RequestOutcome::timeout},
        Hostile{"Drips", drip, RequestOutcome::timeout},
        Hostile{"EndlessHead", sends("HTTP/1.1 200 OK\r\nA: " + std::string(1 << 20, 'a'), true), RequestOutcome::error,
                RequestError::malformed},
        Hostile{"EndlessBody", endless_body, RequestOutcome::timeout},
        Hostile{"SaysNothing", sends(kStubStreamHead + stub_event("[DONE]") + "0\r\n\r\n"), RequestOutcome::error,
                RequestError::empty},
        Hostile{"NeverEndsAfterDone", sends(kStubStreamHead + stub_token("a") + stub_event("[DONE]"), true),
                RequestOutcome::ok},
        Hostile{"AnswersTwice",
                [](StubPeer& peer, const StubServer::Request& request) {
                  return answer_well(peer, request) && answer_well(peer, request);
                },
                RequestOutcome::ok}),
    [](const auto& test) { return test.param.name; });

TEST(OpenAiTarget, SendsAgainWhereAKeptConnectionHadBeenClosed) {
  // Says that it keeps the connection, and closes it when the second request comes.
  StubServer server([seen = std::make_shared<std::map<int, int>>(), mutex = std::make_shared<std::mutex>()](
                        StubPeer& peer, const StubServer::Request& request) {
    const std::lock_guard lock(*mutex);
    if (++(*seen)[peer.fd()] == 2) {
      seen->erase(peer.fd());
      return false;
    }
    return answer_well(peer, request);
  });
  Load load(options_for(server.url()));
  for (int i = 0; i < 6; ++i) load.send(1);
  for (const auto& [id, report] : load.stop()) EXPECT_EQ(report.completion.outcome, RequestOutcome::ok) << id;
  EXPECT_GE(load.facts().at("resent").to_number<int>(), 1);
}

TEST(OpenAiTarget, RetriesOnlyWhereItMay) {
  const auto busy_at_first = [] {
    return [count = std::make_shared<std::atomic<int>>(0)](StubPeer& peer, const StubServer::Request& request) {
      return (*count)++ < 2 ? peer.send(stub_answer(503, "later")) : answer_well(peer, request);
    };
  };
  StubServer strict(busy_at_first());
  Load once(options_for(strict.url()));
  once.send(1);
  EXPECT_EQ(once.stop().at(0).completion.error, RequestError::overloaded);

  StubServer patient(busy_at_first());
  auto options = options_for(patient.url());
  options.retries = 3;
  options.retry_pause = 1ms;
  Load again(options);
  again.send(1);
  EXPECT_EQ(again.stop().at(0).completion.outcome, RequestOutcome::ok);
  EXPECT_EQ(again.facts().at("retried").to_number<int>(), 2);
}

TEST(OpenAiTarget, ARetriedRequestLeftWhenItFirstDid) {
  std::atomic<std::int64_t> first_seen{0};
  StubServer server(
      [&, count = std::make_shared<std::atomic<int>>(0)](StubPeer& peer, const StubServer::Request& request) {
        if ((*count)++ > 0) return answer_well(peer, request);
        first_seen = std::chrono::steady_clock::now().time_since_epoch().count();
        return peer.send(stub_answer(503, "later"));
      });
  auto options = options_for(server.url());
  options.retries = 3;
  options.retry_pause = 1ms;
  Load load(options);
  load.send(1);
  const auto kept = load.stop();
  EXPECT_EQ(kept.at(0).completion.outcome, RequestOutcome::ok);
  EXPECT_LE(kept.at(0).completion.sent.time_since_epoch().count(), first_seen)
      << "what the server refused at first is not the client's delay";
}

TEST(OpenAiTarget, ARetryThatWouldComeTooLateEndsInTime) {
  StubServer server([](StubPeer& peer, const StubServer::Request&) {
    return peer.send("HTTP/1.1 503 X\r\nRetry-After: 60\r\nContent-Length: 0\r\n\r\n");
  });
  auto options = options_for(server.url());
  options.retries = 3;
  Load load(options, {.request_timeout = 200ms});
  const auto begun = std::chrono::steady_clock::now();
  load.send(1);
  const auto kept = load.stop();
  EXPECT_EQ(name_of(kept.at(0).completion.outcome), "timeout");
  EXPECT_LT(kept.at(0).completion.done - begun, 4s) << "the server asks for five seconds at least";
}

TEST(OpenAiTarget, CountsStreamsThatEndWithoutAWord) {
  const auto ends_with = [](std::string last) {
    return [last = std::move(last)](StubPeer& peer, const StubServer::Request&) {
      return peer.send(kStubStreamHead + stub_token("a") + last + "0\r\n\r\n");
    };
  };
  const auto cut_short = [&](std::string last) {
    StubServer server(ends_with(std::move(last)));
    Load load(options_for(server.url()));
    load.send(3);
    for (const auto& [id, report] : load.stop()) EXPECT_EQ(report.completion.outcome, RequestOutcome::ok) << id;
    return load.facts().at("cut_short").to_number<int>();
  };
  EXPECT_EQ(cut_short(""), 3);
  EXPECT_EQ(cut_short(stub_event("[DONE]")), 0);
  EXPECT_EQ(cut_short(stub_event(R"({"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]})")), 0);
}

/// Looks at this process's memory from time to time.
class MemoryWatch {
 public:
  MemoryWatch() : before_(resident()) {
    thread_ = std::jthread([this](const std::stop_token& ending) {
      while (!ending.stop_requested()) {
        most_ = std::max(most_.load(), resident());
        std::this_thread::sleep_for(2ms);
      }
    });
  }
  std::int64_t grown() const { return most_ - before_; }

 private:
  static std::int64_t resident() {
    std::ifstream file("/proc/self/statm");
    std::int64_t pages = 0;
    std::int64_t resident_pages = 0;
    file >> pages >> resident_pages;
    return resident_pages * ::sysconf(_SC_PAGESIZE);
  }
  std::int64_t before_;
  std::atomic<std::int64_t> most_{0};
  std::jthread thread_;
};

/// An answer that goes on for so long, whatever is in it.
StubServer::Handler long_answer(std::string head, std::string piece, std::int64_t bytes) {
  return [=](StubPeer& peer, const StubServer::Request&) {
    if (!peer.send(head)) return false;
    for (std::int64_t sent = 0; sent < bytes && !peer.stopping(); sent += static_cast<std::int64_t>(piece.size())) {
      if (!peer.send(piece)) return false;
    }
    return false;
  };
}

TEST(OpenAiTarget, AnAnswerWithoutEndDoesNotFillMemory) {
  constexpr std::int64_t kAnswer = 128 << 20;
  constexpr std::int64_t kRoom = 100 << 20;
  const std::string comment = ": nothing to say\n\n";
  std::string comments;
  while (comments.size() < 64'000) comments += comment;
  const std::string chunk = fmt::format("{:x}\r\n{}\r\n", comments.size(), comments);
  const std::string whole_head =
      "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n";
  const auto grown = [&](StubServer::Handler handler, RequestError error) {
    StubServer server(std::move(handler));
    const MemoryWatch memory;
    Load load(options_for(server.url()), {.request_timeout = 300s, .token_times = true, .texts = true});
    load.send(1);
    EXPECT_EQ(name_of(load.stop().at(0).completion.error), name_of(error));
    return memory.grown();
  };
  EXPECT_LT(grown(long_answer(kStubStreamHead, chunk, kAnswer), RequestError::disconnected), kRoom);
  EXPECT_LT(grown(long_answer(whole_head, chunk, kAnswer), RequestError::malformed), kRoom);
}

TEST(OpenAiTarget, WaitingForAConnectionIsTheClients) {
  StubServer server(answer_well);
  auto options = options_for(server.url());
  options.connections = 1;
  Load load(options);
  load.send(2);
  const auto kept = load.stop();
  EXPECT_GE(kept.at(1).completion.sent, kept.at(0).completion.done);
}

TEST(OpenAiTarget, SharesTheLoadByWeight) {
  StubServer one(answer_well);
  StubServer two(answer_well);
  auto options = options_for(one.url());
  options.endpoints.push_back({.url = parse_url(two.url()).value(), .weight = 3});
  Load load(options);
  for (int i = 0; i < 10; ++i) load.send(4);
  const auto kept = load.stop();
  EXPECT_EQ(one.requests(), 10);
  EXPECT_EQ(two.requests(), 30);
  const auto facts = load.facts();
  const auto& endpoints = facts.at("endpoints").as_array();
  EXPECT_EQ(endpoints.at(0).at("ok").to_number<int>(), 10);
  EXPECT_EQ(endpoints.at(1).at("ok").to_number<int>(), 30);
  EXPECT_EQ(
      std::count_if(kept.begin(), kept.end(), [](const auto& entry) { return entry.second.completion.endpoint == 1; }),
      30);
}

TEST(OpenAiTarget, GivesMoreToTheServerThatAnswers) {
  StubServer good(answer_well);
  StubServer silent(never_answer);
  auto options = options_for(good.url());
  options.endpoints.push_back({.url = parse_url(silent.url()).value()});
  options.balance = OpenAiOptions::Balance::least_outstanding;
  Load load(options, {.request_timeout = 300ms});
  load.send(2);
  for (int i = 0; i < 10; ++i) load.send(1);
  load.stop();
  EXPECT_GE(good.requests(), 6);
}

TEST(OpenAiTarget, WaitsForAConnectionWhereNoMoreMayBeOpened) {
  StubServer server(answer_well);
  auto options = options_for(server.url());
  options.connections = 2;
  Load load(options);
  load.send(50);
  for (const auto& [id, report] : load.stop()) EXPECT_EQ(report.completion.outcome, RequestOutcome::ok) << id;
  EXPECT_LE(server.connections(), 3);
  EXPECT_GT(load.facts().at("waited_for_connection").to_number<int>(), 0);
}

TEST(OpenAiTarget, AServerThatGoesAwayIsNoConnection) {
  auto server = std::make_unique<StubServer>(answer_well);
  Load load(options_for(server->url()));
  load.send(1);
  server.reset();
  load.send(3);
  const auto kept = load.stop();
  for (const std::uint64_t id : {1, 2, 3}) EXPECT_EQ(name_of(kept.at(id).completion.error), "connect") << id;
  EXPECT_THAT(json::serialize(load.facts().at("problems")), HasSubstr("no connection: Connection refused"));
}

// --- before the load -------------------------------------------------------------------------------------------------

Error start_error(OpenAiOptions options) {
  options.check = true;
  CollectingSink sink;
  auto target = target_for(std::move(options));
  const auto started = target->start(sink, {});
  return started.ok() ? Error{.message = "it started"} : started.error();
}

TEST(OpenAiCheck, NamesAModelThatTheServerDoesNotKnow) {
  StubServer server(answer_well);
  auto options = options_for(server.url());
  options.model = "othr";
  const Error error = start_error(options);
  EXPECT_EQ(error.kind, ErrorKind::not_found);
  EXPECT_THAT(error.text(), HasSubstr("does not know the model 'othr'"));
  EXPECT_EQ(error.hint, "Did you mean 'other'? It has: m, other.");
}

TEST(OpenAiCheck, NamesAWrongToken) {
  StubServer server([](StubPeer& peer, const StubServer::Request& request) {
    if (request.head.find("Bearer right") != std::string::npos) return answer_well(peer, request);
    return peer.send(stub_answer(401, R"({"error":{"message":"wrong key: wr0ng-token"}})"));
  });
  auto options = options_for(server.url());
  EXPECT_THAT(start_error(options).hint, HasSubstr("'token_env'"));
  options.token = "wr0ng-token";
  const Error error = start_error(options);
  EXPECT_EQ(error.kind, ErrorKind::denied);
  EXPECT_THAT(error.text(), testing::Not(HasSubstr("wr0ng-token")));
  options.token = "right";
  EXPECT_EQ(start_error(options).message, "it started");
}

TEST(OpenAiCheck, NamesAWrongPath) {
  StubServer server(answer_well);
  std::string url = server.url();
  url.replace(url.rfind("/v1"), 3, "/api");
  const Error error = start_error(options_for(url));
  EXPECT_EQ(error.kind, ErrorKind::not_found);
  EXPECT_THAT(error.text(), HasSubstr("answers 404 to /api/chat/completions: no such path"));
}

TEST(OpenAiCheck, NamesAServerThatIsNotThere) {
  std::string url;
  {
    StubServer server(answer_well);
    url = server.url();
  }
  const Error error = start_error(options_for(url));
  EXPECT_EQ(error.kind, ErrorKind::unreachable);
  EXPECT_THAT(error.text(), HasSubstr("Connection refused"));
}

TEST(OpenAiCheck, NamesAServerOfAnotherKind) {
  StubServer server([](StubPeer& peer, const StubServer::Request&) { return peer.send(stub_answer(200, "<html>")); });
  const Error error = start_error(options_for(server.url()));
  EXPECT_EQ(error.kind, ErrorKind::bad_file);
  EXPECT_THAT(error.text(), HasSubstr("does not answer /v1/chat/completions with a completion"));
}

TEST(OpenAiCheck, GivesUpOnAServerThatNeverAnswers) {
  StubServer server(never_answer);
  auto options = options_for(server.url());
  options.check_time = 100ms;
  EXPECT_EQ(start_error(options).kind, ErrorKind::timeout);
}

TEST(OpenAiOptions, RefuseWhatCannotBe) {
  const auto problem = [](OpenAiOptions options) {
    const auto made = make_openai_target(std::move(options), some_requests());
    return made.ok() ? std::string("it was made") : made.error().message;
  };
  EXPECT_THAT(problem({}), HasSubstr("at least one address"));
  auto options = options_for("http://h/v1");
  options.headers = {{"X-A", "b\r\nX-B: c"}};
  EXPECT_THAT(problem(options), HasSubstr("line break"));
  options.headers = {{"Content-Length", "5"}};
  EXPECT_THAT(problem(options), HasSubstr("set by assay itself"));
  options.headers = {};
  options.endpoints[0].weight = 0;
  EXPECT_THAT(problem(options), HasSubstr("weight 0"));
}

// --- TLS -------------------------------------------------------------------------------------------------------------

std::unique_ptr<HttpServer> tls_server(const TlsFiles& files) {
  Router router;
  router.add("POST", "/v1/chat/completions", [](const HttpRequest&) {
    return HttpResponse::json(
        200, R"({"choices":[{"message":{"content":"hello"}}],"usage":{"completion_tokens":2,"prompt_tokens":1}})");
  });
  ServerOptions options;
  options.tls = files;
  return start_server(std::move(router), std::move(options));
}

TEST(OpenAiTls, ChecksTheCertificateAgainstTheAuthority) {
  const TemporaryFolder folder;
  const TestAuthority authority;
  const TlsFiles files = authority.issue(folder.path() / "server.pem", "127.0.0.1");
  const auto server = tls_server(files);
  auto options = options_for(fmt::format("https://127.0.0.1:{}/v1", port_of(*server)));
  options.stream = false;
  {
    Load untrusting(options);
    untrusting.send(2);
    EXPECT_EQ(name_of(untrusting.stop().at(0).completion.error), "connect");
    EXPECT_THAT(json::serialize(untrusting.facts().at("problems")), HasSubstr("certificate"));
  }
  options.ca_file = files.certificate;
  Load trusting(options);
  for (int i = 0; i < 5; ++i) trusting.send(4);
  for (const auto& [id, report] : trusting.stop()) {
    EXPECT_EQ(report.completion.outcome, RequestOutcome::ok) << name_of(report.completion.error);
    EXPECT_EQ(report.completion.output_tokens, 2U);
  }
}

TEST(OpenAiTls, RefusesACertificateOfAnotherName) {
  const TemporaryFolder folder;
  const TestAuthority authority;
  const TlsFiles files = authority.issue(folder.path() / "server.pem", "example.org");
  const auto server = tls_server(files);
  auto options = options_for(fmt::format("https://127.0.0.1:{}/v1", port_of(*server)));
  options.ca_file = files.certificate;
  Load load(options);
  load.send(1);
  EXPECT_EQ(name_of(load.stop().at(0).completion.error), "connect");
}

}  // namespace
}  // namespace assay
