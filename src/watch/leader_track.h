#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "model/leader_status.h"
#include "watch/alert_board.h"
#include "watch/condition.h"

namespace assay {

/// What is kept of the leader's own problems between looks: each is an alert of its own, of no node.
class LeaderTrack {
 public:
  void look(const std::vector<LeaderProblem>& problems, const Rule& rule, AlertBoard& board, WallTime now);

  static constexpr std::string_view kNode = "";  ///< of its alerts
  /// Alerts at a time; beyond them, problems are in the leader's status alone.
  static constexpr std::size_t kMost = 256;

 private:
  std::map<std::string, RuleCondition> conditions_;  ///< by "kind: about"
  bool begun_ = false;
};

}  // namespace assay
