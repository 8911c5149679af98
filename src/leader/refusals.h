#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"

namespace assay {

/// What nodes sent and nobody stored, by node and reason. Stays, even when it is long over, until somebody has looked:
/// a node that is online and has no history is a problem that shows nowhere else. Any thread.
class Refusals {
 public:
  enum class Of { series, samples };

  /// The first of a kind is logged, the others are counted.
  void note(const std::string& node, Of what, std::size_t count, std::string why, WallTime now);
  void forget(std::string_view node);

  /// "node 'gpu01': 37 samples were refused since …: their series were refused". By node; of more than a hundred nodes,
  /// how many there are.
  std::vector<std::string> texts() const;

 private:
  /// Reasons of one node; more than these are counted as the last.
  static constexpr std::size_t kMostReasons = 8;
  static constexpr std::size_t kMostNodes = 100;
  struct Refusal {
    Of what = Of::samples;
    std::string why;
    std::uint64_t count = 0;
    WallTime since;
  };
  static std::string text(std::string_view node, const Refusal& refusal);

  mutable std::mutex mutex_;
  std::map<std::string, std::vector<Refusal>, std::less<>> by_node_;
};

}  // namespace assay
