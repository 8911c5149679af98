#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "fleet/fleet.h"
#include "net/http_message.h"
#include "net/router.h"
#include "net/server_fixture.h"
#include "protocol/batch.h"

namespace assay {

/// For tests: a leader that knows the protocol, counts what comes and answers as it is told to.
class CountingLeader {
 public:
  static constexpr const char* kSecret = "a secret";

  struct Node {
    std::string key;
    int joins = 0;
    int hellos = 0;
    json::object hello;
    std::string stream;  ///< that said hello; empty: none
    std::map<std::uint32_t, SeriesName> names;
    std::vector<DeviceFacts> devices;
    std::vector<TelemetryEvent> events;
    std::uint64_t last_sequence = 0;
    std::vector<std::int64_t> sent_ns;                                 ///< Assay-Sent of each request
    std::map<std::pair<std::uint32_t, std::int64_t>, double> samples;  ///< by series and time
    std::vector<std::size_t> batches;                                  ///< in each request that was taken
  };

  CountingLeader() {
    Router router;
    router.post("/agent/v1/join",
                [this](const HttpRequest& request) { return locked(&CountingLeader::join, request); });
    router.post("/agent/v1/hello",
                [this](const HttpRequest& request) { return locked(&CountingLeader::hello, request); });
    router.post("/agent/v1/batch",
                [this](const HttpRequest& request) { return locked(&CountingLeader::batch, request); },
                {.body_bytes = std::size_t{4} << 20});
    server_ = start_server(std::move(router));
  }

  Url url() const { return {.host = "127.0.0.1", .port = port_of(*server_), .target = "/"}; }
  FleetOptions options() const { return {.leader = url(), .join_secret = kSecret}; }
  void stop() { server_->stop(Nanos(0)); }

  /// The next requests of a node at a path are answered with these before anything else is looked at.
  void answer_next(const std::string& node, const std::string& path, std::vector<HttpResponse> answers) {
    const std::lock_guard lock(mutex_);
    auto& list = prepared_[{node, path}];
    std::ranges::move(answers, std::back_inserter(list));
  }
  /// As a leader that was started anew with an empty store.
  void forget(const std::string& node) {
    const std::lock_guard lock(mutex_);
    nodes_[node].stream.clear();
    nodes_[node].names.clear();
  }
  void add_to_acknowledgements(std::string key, std::int64_t value) { extra_[std::move(key)] = value; }

  std::map<std::string, Node> nodes() const {
    const std::lock_guard lock(mutex_);
    return nodes_;
  }
  std::uint64_t samples() const {
    std::uint64_t total = 0;
    for (const auto& [name, node] : nodes()) total += node.samples.size();
    return total;
  }

 private:
  using Step = HttpResponse (CountingLeader::*)(const HttpRequest&, Node&);

  HttpResponse locked(Step step, const HttpRequest& request) {
    const std::lock_guard lock(mutex_);
    const std::string node(request.headers.find("Assay-Node").value_or(""));
    if (auto& prepared = prepared_[{node, request.path}]; !prepared.empty()) {
      HttpResponse answer = std::move(prepared.front());
      prepared.pop_front();
      return answer;
    }
    return (this->*step)(request, nodes_[node]);
  }

  static HttpResponse refuse(int status) { return HttpResponse::json(status, R"({"error": {"message": "no"}})"); }

  HttpResponse join(const HttpRequest& request, Node& node) {
    if (request.headers.find("Authorization") != "Bearer " + std::string(kSecret)) return refuse(401);
    const auto body = parse_json(request.body)->as_object();
    const std::string key(body.at("key").as_string());
    if (!node.key.empty() && node.key != key) return refuse(409);
    node.key = key;
    ++node.joins;
    return HttpResponse::json(200, json::serialize(json::object{{"node", body.at("node")}}));
  }

  static bool knows(const HttpRequest& request, const Node& node) {
    return !node.key.empty() && request.headers.find("Authorization") == "Bearer " + node.key;
  }

  HttpResponse hello(const HttpRequest& request, Node& node) {
    if (!knows(request, node)) return refuse(401);
    ++node.hellos;
    node.hello = parse_json(request.body)->as_object();
    node.stream = node.hello.at("stream").as_string();
    return HttpResponse::json(200, R"({"now_ns": 1, "heartbeat_ms": 1000})");
  }

  HttpResponse batch(const HttpRequest& request, Node& node) {
    if (!knows(request, node)) return refuse(401);
    std::vector<Batch> batches;
    std::string_view rest = request.body;
    while (const auto framed = take_framed(rest)) batches.push_back(*decode_batch(*framed));
    EXPECT_TRUE(rest.empty());
    for (const auto& batch : batches) {
      if (batch.stream != node.stream) return refuse(410);
      for (std::size_t i = 0; i < batch.series.size(); ++i) {
        node.names[batch.first_series + static_cast<std::uint32_t>(i)] = batch.series[i];
      }
      for (const auto& sample : batch.samples) {
        if (!node.names.contains(sample.series)) return refuse(409);
      }
    }
    for (auto& batch : batches) take(std::move(batch), node);
    node.batches.push_back(batches.size());
    node.sent_ns.push_back(std::stoll(std::string(*request.headers.find("Assay-Sent"))));
    json::object answer{{"sequence", node.last_sequence}, {"now_ns", 1}, {"pause_ms", 0}};
    for (const auto& [key, value] : extra_) answer[key] = value;
    return HttpResponse::json(200, json::serialize(answer));
  }

  static void take(Batch batch, Node& node) {
    node.last_sequence = std::max(node.last_sequence, batch.sequence);
    for (const auto& sample : batch.samples) node.samples[{sample.series, sample.time_ns}] = sample.value;
    std::ranges::move(batch.events, std::back_inserter(node.events));
    if (batch.devices) node.devices = *batch.devices;
  }

  mutable std::mutex mutex_;
  std::map<std::string, Node> nodes_;
  std::map<std::pair<std::string, std::string>, std::deque<HttpResponse>> prepared_;
  std::map<std::string, std::int64_t> extra_;
  std::unique_ptr<HttpServer> server_;
};

}  // namespace assay
