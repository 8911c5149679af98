#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "model/alert_severity.h"

namespace assay {

/// What a problem of a leader is about.
enum class ProblemKind {
  storage,      ///< something could not be read or written
  damage,       ///< stored bytes are not what was written
  refused,      ///< a node sent what was not stored
  clock,        ///< the time of its machine
  limit,        ///< it has so much to do that nodes have to wait
  outlet,       ///< somebody could not be told of an alert
  certificate,  ///< it ends, or could not be read
  fault,        ///< a part of it has failed and was begun again
};
inline constexpr std::array kProblemKinds = {ProblemKind::storage,     ProblemKind::damage, ProblemKind::refused,
                                             ProblemKind::clock,       ProblemKind::limit,  ProblemKind::outlet,
                                             ProblemKind::certificate, ProblemKind::fault};
std::string_view name_of(ProblemKind kind);

/// Something that is wrong with a leader itself.
struct LeaderProblem {
  ProblemKind kind = ProblemKind::storage;
  AlertSeverity level = AlertSeverity::critical;
  std::string about;  ///< what or who, to tell problems of a kind apart: "writing down events", a node
  std::string text;   ///< for people, a whole line
  WallTime since;
  bool operator==(const LeaderProblem&) const = default;
};
/// How grave one of that kind is, where nobody knows better.
AlertSeverity usual_level(ProblemKind kind);

/// How a leader itself is doing.
struct LeaderStatus {
  std::string version;
  double uptime_s = 0;
  struct NodeCounts {
    std::int64_t online = 0;
    std::int64_t late = 0;
    std::int64_t offline = 0;
    std::int64_t draining = 0;
  };
  NodeCounts nodes;
  std::uint64_t samples = 0;  ///< taken in since it started; so with the next two
  std::uint64_t samples_refused = 0;
  std::uint64_t batches = 0;
  std::size_t series = 0;
  std::size_t head_points = 0;  ///< that wait in memory to be written
  std::size_t head_bytes = 0;
  std::size_t live_clients = 0;
  std::vector<LeaderProblem> problems;  ///< for whoever looks after it; empty: none
};

}  // namespace assay
