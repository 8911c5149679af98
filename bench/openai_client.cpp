// What the client of OpenAI's API costs: processor time for a request and for a streamed event, and how late it sees a
// first token, beside wrk where it is installed.
//
//   bench_openai_client [REQUESTS]
//
// The server is a bare epoll loop on a thread of its own that answers every request with the same bytes and understands
// nothing but where a request ends. On a machine with few cores client and server share them: what counts is the
// processor time of the client's thread. Promises: ≥ 60,000 requests and ≥ 2 million events in a second of one core.

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "base/files.h"
#include "loadgen/load_result.h"
#include "net/url.h"
#include "requests/generated_requests.h"
#include "target/openai/openai_target.h"

namespace {

using namespace assay;

constexpr std::uint32_t kConnections = 64;
constexpr int kEventsPerAnswer = 512;
constexpr double kGoalRequests = 60'000;
constexpr double kGoalEvents = 2'000'000;

SteadyTime bench_now() { return std::chrono::time_point_cast<Nanos>(std::chrono::steady_clock::now()); }

std::string answer_of(int tokens) {
  std::string body;
  const auto add = [&](std::string_view data) {
    body += fmt::format("{:x}\r\ndata: {}\n\n\r\n", data.size() + 8, data);
  };
  for (int i = 0; i < tokens; ++i) {
    add(R"({"id":"cmpl-0123456789","object":"chat.completion.chunk","created":1700000000,"model":"m","choices":)"
        R"([{"index":0,"delta":{"content":" word"},"logprobs":null,"finish_reason":null}]})");
  }
  add(fmt::format(R"({{"id":"cmpl-0123456789","object":"chat.completion.chunk","created":1700000000,"model":"m",)"
                  R"("choices":[],"usage":{{"prompt_tokens":16,"total_tokens":{},"completion_tokens":{}}}}})",
                  16 + tokens, tokens));
  add("[DONE]");
  return "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n" + body +
         "0\r\n\r\n";
}

/// Answers every request with the same bytes.
class BareServer {
 public:
  explicit BareServer(std::string answer)
      : answer_(std::move(answer)),
        listener_(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)),
        poll_(::epoll_create1(EPOLL_CLOEXEC)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    if (::bind(listener_.get(), generic, length) != 0 || ::listen(listener_.get(), 1024) != 0 ||
        ::getsockname(listener_.get(), generic, &length) != 0) {
      fmt::print(stderr, "cannot listen on loopback\n");
      std::exit(1);
    }
    port_ = ntohs(address.sin_port);
    watch(listener_.get());
    thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
  }

  std::uint16_t port() const { return port_; }
  std::uint64_t requests() const { return requests_; }
  /// When the last answer was about to be sent.
  SteadyTime last_answer() const { return SteadyTime(Nanos(last_answer_.load())); }

 private:
  struct Client {
    FileDescriptor fd;
    std::string got;
    std::string out;
  };

  void watch(int fd) const {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = fd;
    ::epoll_ctl(poll_.get(), EPOLL_CTL_ADD, fd, &event);
  }

  void run(const std::stop_token& stop) {
    std::array<epoll_event, 64> events{};
    while (!stop.stop_requested()) {
      const int count = ::epoll_wait(poll_.get(), events.data(), static_cast<int>(events.size()), 50);
      for (int i = 0; i < count; ++i) {
        const epoll_event& event = events[static_cast<std::size_t>(i)];
        if (event.data.fd == listener_.get()) {
          take_client();
        } else {
          serve(clients_[event.data.fd], (event.events & EPOLLIN) != 0);
        }
      }
    }
  }

  void take_client() {
    FileDescriptor fd(::accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!fd) return;
    const int on = 1;
    ::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    watch(fd.get());
    const int number = fd.get();
    clients_[number] = {.fd = std::move(fd), .got = {}, .out = {}};
  }

  void serve(Client& client, bool readable) {
    if (readable) {
      const ssize_t size = ::recv(client.fd.get(), buffer_.data(), buffer_.size(), 0);
      if (size <= 0) return static_cast<void>(clients_.erase(client.fd.get()));
      client.got.append(buffer_.data(), static_cast<std::size_t>(size));
      while (take_request(client.got)) {
        ++requests_;
        last_answer_ = bench_now().time_since_epoch().count();
        client.out += answer_;
      }
    }
    send_out(client);
  }

  static bool take_request(std::string& got) {
    const std::size_t end = got.find("\r\n\r\n");
    if (end == std::string::npos) return false;
    const std::size_t at = got.find("Content-Length: ");
    const std::size_t body = at < end ? std::strtoul(got.c_str() + at + 16, nullptr, 10) : 0;
    if (got.size() < end + 4 + body) return false;
    got.erase(0, end + 4 + body);
    return true;
  }

  void send_out(Client& client) const {
    const bool waited = !client.out.empty() && client.out.size() % answer_.size() != 0;
    const ssize_t sent = ::send(client.fd.get(), client.out.data(), client.out.size(), MSG_NOSIGNAL);
    if (sent > 0) client.out.erase(0, static_cast<std::size_t>(sent));
    if (client.out.empty() && !waited) return;
    epoll_event event{};
    event.events = client.out.empty() ? EPOLLIN : EPOLLIN | EPOLLOUT;
    event.data.fd = client.fd.get();
    ::epoll_ctl(poll_.get(), EPOLL_CTL_MOD, client.fd.get(), &event);
  }

  std::string answer_;
  FileDescriptor listener_;
  FileDescriptor poll_;
  std::uint16_t port_ = 0;
  std::atomic<std::uint64_t> requests_{0};
  std::atomic<std::int64_t> last_answer_{0};
  std::map<int, Client> clients_;
  std::array<char, 65536> buffer_{};
  std::jthread thread_;
};

class CountingSink final : public CompletionSink {
 public:
  using CompletionSink::complete;
  void complete(std::span<const Completion> completions) noexcept override {
    for (const Completion& completion : completions) {
      if (completion.outcome == RequestOutcome::ok) tokens_ += completion.output_tokens;
      if (completion.outcome != RequestOutcome::ok) ++failed_;
      first_token_ = completion.first_token.time_since_epoch().count();
    }
    done_ += completions.size();
    done_.notify_all();
  }
  void wait_for(std::uint64_t count) const {
    for (std::uint64_t now = done_; now < count; now = done_) done_.wait(now);
  }
  std::uint64_t tokens() const { return tokens_; }
  std::uint64_t failed() const { return failed_; }
  SteadyTime first_token() const { return SteadyTime(Nanos(first_token_.load())); }

 private:
  std::atomic<std::uint64_t> done_{0};
  std::atomic<std::uint64_t> tokens_{0};
  std::atomic<std::uint64_t> failed_{0};
  std::atomic<std::int64_t> first_token_{0};
};

/// Time on a processor of one of our threads.
double cpu_seconds_of(int thread) {
  std::ifstream file(fmt::format("/proc/self/task/{}/schedstat", thread));
  double nanos = 0;
  file >> nanos;
  return nanos * 1e-9;
}

std::unique_ptr<Target> client_of(const BareServer& server, int tokens) {
  OpenAiOptions options;
  options.endpoints = {{.url = parse_url(fmt::format("http://127.0.0.1:{}/v1", server.port())).value()}};
  options.model = "m";
  options.check = false;
  options.connections = kConnections;
  return make_openai_target(options, generate_requests({.seed = {1, "bench"},
                                                        .input = Lengths::fixed(16),
                                                        .output = Lengths::fixed(static_cast<std::uint32_t>(tokens))})
                                         .value())
      .value();
}

struct Measured {
  double requests_per_second = 0;
  double cpu_per_request = 0;
  double events_per_cpu_second = 0;
};

Measured measure(int tokens, std::uint64_t count) {
  const BareServer server(answer_of(tokens));
  CountingSink sink;
  const auto target = client_of(server, tokens);
  if (!target->start(sink, {.request_timeout = std::chrono::hours(1)})) std::exit(1);
  std::vector<Request> requests(count);
  for (std::uint64_t i = 0; i < count; ++i) requests[i] = {.id = i, .scheduled = bench_now()};
  const int thread = target->threads().at(0);
  const double cpu_before = cpu_seconds_of(thread);
  const SteadyTime start = bench_now();
  target->issue(requests);
  sink.wait_for(count);
  const double wall = seconds_of(bench_now() - start);
  const double cpu = cpu_seconds_of(thread) - cpu_before;
  target->stop(bench_now() + std::chrono::seconds(5));
  if (sink.failed() > 0 || sink.tokens() != count * static_cast<std::uint64_t>(tokens)) {
    fmt::print("{} requests failed\n", sink.failed());
    std::exit(1);
  }
  return {static_cast<double>(count) / wall, cpu / static_cast<double>(count),
          static_cast<double>(sink.tokens()) / cpu};
}

/// Microseconds from the moment before the server sends to the time that the client gives the first token.
std::vector<double> first_token_delays() {
  const BareServer server(answer_of(1));
  CountingSink sink;
  const auto target = client_of(server, 1);
  if (!target->start(sink, {})) std::exit(1);
  std::vector<double> delays;
  for (std::uint64_t i = 0; i < 2000; ++i) {
    const Request request{.id = i, .scheduled = bench_now()};
    target->issue({&request, 1});
    sink.wait_for(i + 1);
    delays.push_back(seconds_of(sink.first_token() - server.last_answer()) * 1e6);
  }
  target->stop(bench_now() + std::chrono::seconds(5));
  std::sort(delays.begin(), delays.end());
  return delays;
}

/// A load as `kind: serve` makes it, with everything that is recorded of it.
LoadResult load_of(const LoadPlan& plan, double rate) {
  const BareServer server(answer_of(1));
  const auto target = client_of(server, 1);
  QueryRecorder recorder({.expected = 1'000'000});
  PoissonArrivals arrivals(rate, 1);
  SamplesInOrder order(1024);
  SpinningClock clock;
  const auto ending = run_load(plan, {&arrivals, order, *target, recorder, clock}, {});
  if (!ending) std::exit(1);
  return evaluate_load(plan, {.asked_per_second = rate}, recorder, *ending);
}

/// What wrk says of the same server.
struct Wrk {
  bool installed = false;
  double cpu_us_per_request = 0;
  double p50_us = 0;  ///< of one connection
  double p99_us = 0;
};

double children_cpu_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_CHILDREN, &usage);
  return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
}

Wrk run_wrk() {
  Wrk wrk{.installed = std::system("command -v wrk >/dev/null 2>&1") == 0};
  if (!wrk.installed) return wrk;
  const BareServer server(answer_of(1));
  const auto command = [&](std::uint32_t connections, std::string_view more) {
    return fmt::format("wrk -t1 -c{} -d3s {} http://127.0.0.1:{}/", connections, more, server.port());
  };
  const double before = children_cpu_seconds();
  if (std::system((command(kConnections, "") + " >/dev/null").c_str()) != 0) return {};
  wrk.cpu_us_per_request =
      (children_cpu_seconds() - before) / static_cast<double>(std::max<std::uint64_t>(server.requests(), 1)) * 1e6;
  std::FILE* said = ::popen(command(1, "--latency").c_str(), "r");
  if (said == nullptr) return {};
  std::array<char, 256> line{};
  while (std::fgets(line.data(), line.size(), said) != nullptr) {
    double percent = 0;
    double value = 0;
    std::array<char, 4> unit{};
    if (std::sscanf(line.data(), " %lf%% %lf%3s", &percent, &value, unit.data()) != 3) continue;
    const std::string_view name(unit.data());
    const double us = value * (name == "us" ? 1 : name == "ms" ? 1e3 : 1e6);
    if (percent == 50) wrk.p50_us = us;
    if (percent == 99) wrk.p99_us = us;
  }
  ::pclose(said);
  return wrk;
}

double us(std::int64_t ns) { return static_cast<double>(ns) / 1e3; }

/// How late requests leave, and what one takes from end to end, beside wrk where it is installed.
void print_beside_wrk(double our_cpu_per_request) {
  constexpr double kRate = 5000;
  const auto paced = load_of({.scenario = Scenario::server, .min_duration = std::chrono::seconds(3)}, kRate);
  fmt::print("by the clock, {:.0f}/s:     late p50 {:.1f} µs, p99 {:.1f} µs; the client waited {:.1f} % for a CPU\n",
             kRate, us(paced.lateness.p50), us(paced.lateness.p99), paced.client.waited_share * 100);
  const auto single =
      load_of({.scenario = Scenario::single_stream, .min_duration = std::chrono::seconds(3)}, 1).end_to_end;
  fmt::print("one after the other:    p50 {:.1f} µs, p99 {:.1f} µs from end to end\n", us(single.p50), us(single.p99));
  const Wrk wrk = run_wrk();
  if (!wrk.installed) return fmt::print("wrk is not installed (apt install wrk)\n");
  fmt::print(
      "wrk, the same answer:   p50 {:.1f} µs, p99 {:.1f} µs one after the other; it has no rate to be late for\n",
      wrk.p50_us, wrk.p99_us);
  fmt::print("wrk, GET, not read:     {:.2f} µs of CPU a request; ours takes {:.2f} times that\n",
             wrk.cpu_us_per_request, our_cpu_per_request * 1e6 / wrk.cpu_us_per_request);
}

}  // namespace

int main(int argc, char** argv) {
  const std::uint64_t count = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 200'000;
  measure(1, count / 10);  // warms up
  const Measured small = measure(1, count);
  const Measured streams = measure(kEventsPerAnswer, std::max<std::uint64_t>(count / 50, 1));
  const auto delays = first_token_delays();
  const double requests_per_core = 1 / small.cpu_per_request;
  fmt::print(
      "requests of one token:  {:>9.0f}/s over the clock, {:>9.0f}/s of one core, {:.2f} µs each (goal {:.0f}/s)\n",
      small.requests_per_second, requests_per_core, small.cpu_per_request * 1e6, kGoalRequests);
  fmt::print("events of long streams: {:>9.2f} M/s of one core, {:.0f} ns each (goal {:.1f} M/s)\n",
             streams.events_per_cpu_second / 1e6, 1e9 / streams.events_per_cpu_second, kGoalEvents / 1e6);
  fmt::print("first token seen after: p50 {:.1f} µs, p99 {:.1f} µs from before the server's send, loopback included\n",
             delays[delays.size() / 2], delays[delays.size() * 99 / 100]);
  print_beside_wrk(small.cpu_per_request);
  return requests_per_core >= kGoalRequests && streams.events_per_cpu_second >= kGoalEvents ? 0 : 1;
}
