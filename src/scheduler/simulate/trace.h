#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "scheduler/node_offer.h"

namespace assay {

/// A job of a trace: what it needs and how long it really takes. Small, since there may be millions.
struct TraceJob {
  double submitted = 0;     ///< seconds from the beginning of the trace
  double seconds = 0;       ///< on a node of speed 1; > 0
  double estimate = 0;      ///< what is believed before; 0: from the history of those that ended
  double log_error = 0;     ///< of `estimate`
  double limit = 0;         ///< that its user set; 0: none
  std::uint32_t user = 0;   ///< index into `Trace::users`
  std::uint32_t name = 0;   ///< index into `Trace::names`: jobs with one name are alike
  std::uint32_t model = 0;  ///< index into `Trace::models`
  std::uint16_t nodes = 1;
  std::uint16_t gpus = 1;  ///< on each node
  std::int32_t priority = 0;
};

/// Jobs in the order of their submission.
struct Trace {
  std::vector<TraceJob> jobs;
  std::vector<std::string> users;
  std::vector<std::string> names;
  std::vector<std::string> models;  ///< of GPUs; the first is "": any
  std::vector<std::string> notes;   ///< what was left out, for people
};

/// Brings jobs into order and lets time begin with the first of them.
void settle_trace(Trace& trace);

/// Nodes to simulate as people write them: `100` (one GPU each), `100x8`, `60x8:H200,40x4:V100@0.5` (half as fast).
/// They are called n1, n2, …; racks have 16 nodes each.
Result<std::vector<NodeOffer>> parse_simulated_nodes(const std::string& text);

}  // namespace assay
