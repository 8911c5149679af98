#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "model/leader_status.h"

namespace assay {

class RefusalTable;
struct RefusalRecord;

/// What nodes sent and nobody stored, by node and reason. Stays, even when it is long over and whoever was started anew
/// meanwhile, until somebody has looked: a node that is online and has no history is a problem that shows nowhere else.
/// Any thread.
class Refusals {
 public:
  enum class Of { series, samples, events };

  /// The table must outlive this.
  explicit Refusals(RefusalTable& table);
  ~Refusals();
  /// What was known when the leader was stopped. Once, before all else.
  Result<void> load();

  /// The first of a kind is logged, the others are counted. Waits for no disk.
  void note(const std::string& node, Of what, std::size_t count, std::string why, WallTime now);
  /// Writes down what was noted since the last time; what could not be written is kept for the next.
  Result<void> save();
  /// Somebody has looked, or the node is gone.
  Result<void> forget(std::string_view node);

  /// "node 'gpu01': 37 samples were refused since …: their series were refused". By node; of more than a hundred nodes,
  /// how many there are.
  std::vector<LeaderProblem> problems() const;

 private:
  /// Reasons of one node; more than these are counted as the last.
  static constexpr std::size_t kMostReasons = 8;
  static constexpr std::size_t kMostNodes = 100;
  struct Refusal;
  static std::string text(const RefusalRecord& refusal);

  RefusalTable& table_;
  std::mutex saving_mutex_;  ///< taken before the other one: what is forgotten must not be written down again
  mutable std::mutex mutex_;
  std::map<std::string, std::vector<Refusal>, std::less<>> by_node_;
};

}  // namespace assay
