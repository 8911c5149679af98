#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/json.h"
#include "base/result.h"

namespace assay {

/// What an agent says of itself and its machine at the start of a stream.
struct AgentHello {
  std::string stream;
  std::string version;
  std::int64_t period_ms = 1000;
  bool simulated = false;
  std::map<std::string, std::string> facts;
  std::vector<std::string> allow;
  std::vector<std::string> sources;
  bool operator==(const AgentHello&) const = default;
};

/// Facts of an agent whose runs are not done on its node: where instead, as `--on` says it, and how many GPUs they may
/// have there at once. Slurm's jobs and the node's own GPUs do not matter to it.
inline constexpr const char* kPlaceFact = "place";
inline constexpr const char* kPlaceGpusFact = "place_gpus";
/// Facts of an agent by which runs find a node: nodes with the same rack talk to each other fastest; paths of data that
/// need not be fetched, with commas between them.
inline constexpr const char* kRackFact = "rack";
inline constexpr const char* kHoldsFact = "holds";

json::object to_json(const AgentHello& hello);
/// Any bytes: `usage`, with the rule that was broken. Texts and lists have limits.
Result<AgentHello> parse_hello(std::string_view body);

/// What the leader answers.
struct HelloAnswer {
  std::int64_t now_ns = 0;                    ///< the leader's clock
  Nanos heartbeat = std::chrono::seconds(1);  ///< how often it wants to hear of the node
  bool operator==(const HelloAnswer&) const = default;
};

json::object to_json(const HelloAnswer& answer);
/// Any bytes. The heartbeat is 0.1 to 60 s, whatever it says.
Result<HelloAnswer> parse_hello_answer(std::string_view body);

}  // namespace assay
