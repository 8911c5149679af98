#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "protocol/batch.h"
#include "protocol/hello.h"
#include "telemetry/sample.h"

namespace assay {

struct Reading;

/// A value of the host, or of a GPU where one is named.
inline Sample sample_of(std::string metric, double value, std::string gpu = "", std::string unit = "ratio") {
  Sample sample{.key = {.name = std::move(metric)}, .unit = std::move(unit), .value = value};
  if (!gpu.empty()) sample.key.labels["gpu"] = std::move(gpu);
  return sample;
}

/// The body of a request with these batches.
inline std::string body_of(const std::vector<Batch>& batches) {
  std::string body;
  for (const auto& batch : batches) append_framed(body, encode_batch(batch));
  return body;
}

/// An agent's side of one stream, as tests steer it.
class TestAgent {
 public:
  explicit TestAgent(std::string node = "gpu01", std::string stream = "stream-1")
      : node_(std::move(node)), builder_(std::move(stream)) {}

  AgentHello hello() const {
    return {.stream = builder_.stream(), .version = "0.4.0", .facts = {{"kernel", "6.1.0"}}, .allow = {"doctor"}};
  }
  Batch batch(WallTime time, std::vector<Sample> samples);
  Batch batch(WallTime time, Reading reading);
  /// As an agent sends again what a leader has forgotten: with every series named.
  Batch with_all_names(Batch batch) const {
    batch.first_series = 0;
    batch.series = builder_.names();
    return batch;
  }
  const std::string& node() const { return node_; }

 private:
  std::string node_;
  BatchBuilder builder_;
};

}  // namespace assay
