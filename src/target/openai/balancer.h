#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "target/openai/openai_options.h"

namespace assay {

/// Requests under way at each endpoint, over all event loops.
using Outstanding = std::vector<std::atomic<std::uint32_t>>;

/// Picks the endpoint of the next request. Pure but for what it reads of `outstanding`. Not thread-safe: each event
/// loop has its own.
class Balancer {
 public:
  /// `outstanding` outlives this and has an entry for each endpoint.
  Balancer(const OpenAiOptions& options, const Outstanding& outstanding);
  std::size_t pick();

 private:
  std::size_t pick_in_turn();
  std::size_t pick_least();

  OpenAiOptions::Balance balance_;
  std::vector<double> weights_;
  double sum_ = 0;
  std::vector<double> credit_;
  std::size_t last_ = 0;
  const Outstanding& outstanding_;
};

}  // namespace assay
