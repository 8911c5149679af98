#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace assay {

/// What an agent says of itself and its machine (docs/reference/agent-protocol.md).
struct AgentHello {
  std::string stream;
  std::string version;
  std::int64_t period_ms = 1000;
  bool simulated = false;
  std::map<std::string, std::string> facts;
  std::vector<std::string> allow;
  std::vector<std::string> sources;
};

/// Any bytes: `usage`, with the rule that was broken. Texts and lists have limits.
Result<AgentHello> parse_hello(std::string_view body);

}  // namespace assay
