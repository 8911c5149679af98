#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "access/secrets.h"
#include "agent/leader_access.h"
#include "base/json.h"
#include "net/http_message.h"
#include "net/raw_connection_fixture.h"
#include "net/response_stream.h"
#include "net/router.h"
#include "net/server_fixture.h"
#include "net/server_options.h"
#include "net/sse.h"
#include "protocol/batch.h"

namespace assay {

/// A leader for tests of the agent's side: takes what the protocol says, remembers everything, and answers as it is
/// told to. Can go away and come back at the same place.
class FakeLeader {
 public:
  struct Answer {
    int status = 200;
    std::string body = R"({"error": {"kind": "busy", "message": "told so", "hint": ""}})";
    std::string retry_after;
  };
  /// Guarded by `mutex`.
  struct Seen {
    std::vector<std::string> joins;                                    ///< bodies
    std::vector<std::string> hellos;                                   ///< bodies
    std::vector<Batch> batches;                                        ///< accepted ones, in the order of arrival
    std::vector<std::size_t> parcels;                                  ///< how many batches each accepted request had
    std::map<std::string, std::vector<std::string>> reports;           ///< bodies by command
    std::vector<std::string> slurm;                                    ///< bodies
    std::vector<std::string> takes;                                    ///< runs that were asked for
    std::map<std::string, std::map<std::uint32_t, SeriesName>> names;  ///< by stream
    int batch_requests = 0;
    int command_streams = 0;
    int job_streams = 0;
    bool saw_sent_header = true;
  };

  explicit FakeLeader(std::optional<TlsFiles> tls = {}) : tls_(std::move(tls)) { start(); }
  ~FakeLeader() { go_away(); }

  void go_away() {
    {
      const std::lock_guard lock(mutex);
      for (auto* streams : {&streams_, &job_streams_}) {
        for (auto& stream : *streams) stream.finish();
        streams->clear();
      }
    }
    hang_end();
    if (server_) server_->stop(std::chrono::milliseconds(10));
    server_.reset();
  }
  void come_back() { start(); }
  /// As after a restart with another memory.
  void forget_streams() {
    const std::lock_guard lock(mutex);
    known_.clear();
    seen.names.clear();
  }
  void forget_names() {
    const std::lock_guard lock(mutex);
    seen.names.clear();
  }
  /// The next requests with batches are answered so, whatever they hold.
  void answer_next(std::vector<Answer> answers) {
    const std::lock_guard lock(mutex);
    scripted_.assign(answers.begin(), answers.end());
  }
  void send_command(const std::string& data) {
    const std::lock_guard lock(mutex);
    for (auto& stream : streams_) stream.send({.event = "command", .data = data, .id = {}, .retry = {}});
  }
  /// What the node should be doing from now on: `{"jobs": [ … ]}`.
  void list_jobs(const std::string& data) {
    const std::lock_guard lock(mutex);
    job_list_ = data;
    for (auto& stream : job_streams_) stream.send({.event = "jobs", .data = data, .id = {}, .retry = {}});
  }
  /// Requests with batches are not answered until `hang_end`.
  void hang() {
    const std::lock_guard lock(mutex);
    hanging_ = true;
  }
  void hang_end() {
    const std::lock_guard lock(mutex);
    hanging_ = false;
    changed_.notify_all();
  }

  LeaderAccess access() const {
    LeaderAccess access;
    const auto scheme = tls_ ? Url::Scheme::https : Url::Scheme::http;
    access.url = {.scheme = scheme, .host = "127.0.0.1", .port = port_, .target = "/", .socket_path = {}};
    access.node = "gpu03";
    const std::lock_guard lock(mutex);
    access.key = key;
    return access;
  }

  static HttpResponse refuse(int status) {
    return HttpResponse::json(status, R"({"error": {"kind": "denied", "message": "no", "hint": ""}})");
  }

  template <typename F>
  auto look(F f) {
    const std::lock_guard lock(mutex);
    return f(seen);
  }
  std::vector<std::pair<std::string, std::uint64_t>> sequences() {
    return look([](const Seen& s) {
      std::vector<std::pair<std::string, std::uint64_t>> list;
      for (const auto& batch : s.batches) list.emplace_back(batch.stream, batch.sequence);
      return list;
    });
  }
  std::size_t taken() {
    return look([](const Seen& s) { return s.batches.size(); });
  }

  mutable std::mutex mutex;
  Seen seen;
  std::string secret = new_secret();
  std::string key = new_secret();   ///< that the node has; another one is refused until it joins
  std::deque<int> report_troubles;  ///< how the next reports are answered instead of being taken
  std::string batch_extra;          ///< further fields of answers to batches: `, "pause_ms": 5`
  int slurm_status = 200;           ///< how reports of Slurm's jobs are answered
  /// Answers whoever takes a run.
  std::function<HttpResponse(const std::string& run)> on_take = [](const std::string&) { return refuse(404); };

 private:
  void start() {
    Router router;
    router.post("/agent/v1/join", [this](const HttpRequest& request) { return on_join(request); });
    router.post("/agent/v1/hello", [this](const HttpRequest& request) { return on_hello(request); });
    router.post("/agent/v1/batch", [this](const HttpRequest& request) { return on_batch(request); },
                {.body_bytes = std::size_t{4} << 20, .run_on = RunOn::worker});
    router.get("/agent/v1/commands", [this](const HttpRequest& request) { return on_commands(request); });
    router.post("/agent/v1/commands/{id}", [this](const HttpRequest& request) { return on_report(request); },
                {.body_bytes = std::size_t{2} << 20, .run_on = RunOn::worker});
    router.get("/agent/v1/jobs", [this](const HttpRequest& request) { return on_jobs(request); });
    router.post("/agent/v1/jobs/{run}/take", [this](const HttpRequest& request) { return on_taking(request); },
                {.run_on = RunOn::worker});
    router.post("/agent/v1/slurm", [this](const HttpRequest& request) { return on_slurm(request); });
    ServerOptions options;
    options.listen.push_back({.host = "127.0.0.1", .port = port_, .socket_path = {}});
    options.tls = tls_;
    server_ = start_server(std::move(router), std::move(options));
    port_ = port_of(*server_);
  }

  static int take_front(std::deque<int>& statuses) {
    const int status = statuses.front();
    statuses.pop_front();
    return status;
  }
  bool knows(const HttpRequest& request) const {
    return request.headers.find("Authorization") == "Bearer " + key && request.headers.find("Assay-Node") == "gpu03";
  }

  HttpResponse on_join(const HttpRequest& request) {
    const std::lock_guard lock(mutex);
    seen.joins.push_back(request.body);
    if (request.headers.find("Authorization") != "Bearer " + secret) return refuse(401);
    key = parse_json(request.body)->at("key").as_string();
    return HttpResponse::json(200, R"({"node": "gpu03"})");
  }
  HttpResponse on_hello(const HttpRequest& request) {
    const std::lock_guard lock(mutex);
    if (!knows(request)) return refuse(401);
    seen.hellos.push_back(request.body);
    known_.insert(std::string(parse_json(request.body)->at("stream").as_string()));
    return HttpResponse::json(200, R"({"now_ns": 1, "heartbeat_ms": 200})");
  }
  HttpResponse on_batch(const HttpRequest& request) {
    std::unique_lock lock(mutex);
    ++seen.batch_requests;
    changed_.wait(lock, [this] { return !hanging_; });
    if (!knows(request)) return refuse(401);
    if (!scripted_.empty()) {
      const Answer answer = scripted_.front();
      scripted_.pop_front();
      auto response = HttpResponse::json(answer.status, answer.body);
      if (!answer.retry_after.empty()) response.headers.add("Retry-After", answer.retry_after);
      return response;
    }
    return take(request);
  }
  HttpResponse take(const HttpRequest& request) {
    seen.saw_sent_header = seen.saw_sent_header && request.headers.find("Assay-Sent").has_value();
    std::vector<Batch> batches;
    std::string_view rest = request.body;
    while (const auto bytes = take_framed(rest)) {
      auto batch = decode_batch(*bytes);
      if (!batch) return refuse(400);
      if (!known_.contains(batch->stream)) return refuse(410);
      auto& names = seen.names[batch->stream];
      for (std::size_t i = 0; i < batch->series.size(); ++i) {
        names[batch->first_series + static_cast<std::uint32_t>(i)] = batch->series[i];
      }
      for (const auto& sample : batch->samples) {
        if (!names.contains(sample.series)) return HttpResponse::json(409, R"({"error": {}, "names": true})");
      }
      batches.push_back(std::move(*batch));
    }
    const auto last = batches.back().sequence;
    seen.parcels.push_back(batches.size());
    std::move(batches.begin(), batches.end(), std::back_inserter(seen.batches));
    return HttpResponse::json(200, fmt::format(R"({{"sequence": {}, "now_ns": 1{}}})", last, batch_extra));
  }
  HttpResponse on_commands(const HttpRequest& request) {
    const std::lock_guard lock(mutex);
    if (!knows(request)) return refuse(401);
    ++seen.command_streams;
    streams_.emplace_back(std::size_t{8} << 20);
    return HttpResponse::streaming(streams_.back().stream(), "text/event-stream");
  }
  HttpResponse on_report(const HttpRequest& request) {
    const std::lock_guard lock(mutex);
    if (!knows(request)) return refuse(401);
    if (!report_troubles.empty()) return refuse(take_front(report_troubles));
    seen.reports[std::string(request.capture("id"))].push_back(request.body);
    return HttpResponse::json(200, "{}");
  }
  HttpResponse on_jobs(const HttpRequest& request) {
    const std::lock_guard lock(mutex);
    if (!knows(request)) return refuse(401);
    ++seen.job_streams;
    job_streams_.emplace_back(std::size_t{8} << 20);
    if (!job_list_.empty()) {
      job_streams_.back().send({.event = "jobs", .data = job_list_, .id = {}, .retry = {}});
    }
    return HttpResponse::streaming(job_streams_.back().stream(), "text/event-stream");
  }
  HttpResponse on_slurm(const HttpRequest& request) {
    const std::lock_guard lock(mutex);
    if (!knows(request)) return refuse(401);
    seen.slurm.push_back(request.body);
    return slurm_status == 200 ? HttpResponse::json(200, "{}") : refuse(slurm_status);
  }
  HttpResponse on_taking(const HttpRequest& request) {
    const std::lock_guard lock(mutex);
    if (!knows(request)) return refuse(401);
    seen.takes.emplace_back(request.capture("run"));
    return on_take(seen.takes.back());
  }

  std::optional<TlsFiles> tls_;
  std::condition_variable changed_;
  std::deque<Answer> scripted_;
  std::set<std::string> known_;
  std::vector<EventStream> streams_;
  std::vector<EventStream> job_streams_;
  std::string job_list_;
  bool hanging_ = false;
  std::uint16_t port_ = 0;
  std::unique_ptr<HttpServer> server_;
};

/// A batch with one sample of each of `series` series, the first of which are known from earlier batches.
inline Batch make_batch(const std::string& stream, std::uint64_t sequence, std::uint32_t known, std::uint32_t series) {
  Batch batch{.stream = stream, .sequence = sequence, .first_series = known};
  for (std::uint32_t i = known; i < series; ++i) {
    batch.series.push_back({.key = {.name = fmt::format("test.series_{}", i), .labels = {}}, .unit = "W"});
  }
  for (std::uint32_t i = 0; i < series; ++i) {
    batch.samples.push_back({.series = i, .time_ns = static_cast<std::int64_t>(sequence) * 1'000'000'000, .value = 1});
  }
  return batch;
}

}  // namespace assay
