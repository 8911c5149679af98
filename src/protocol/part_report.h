#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"

// What the nodes of one run over several and their leader tell each other while it goes on.

namespace assay {

/// Where the processes of a run over several nodes find each other: said by the agent of the first of them.
struct MeetingPlace {
  std::string address;
  int port = 0;
  std::string secret;  ///< of this run alone: for nobody's log or disk
  bool operator==(const MeetingPlace&) const = default;
};

/// Which node of a run this is, for whoever takes it.
struct PartOfRun {
  int number = 0;  ///< 0: the first, which owns the run
  int of = 1;
  std::uint64_t epoch = 0;              ///< of the owner's lease
  std::optional<MeetingPlace> meeting;  ///< of a further node: where the first one is
  bool operator==(const PartOfRun&) const = default;
};

/// Every second, from each node of the run: that it is there, and how far it is.
struct PartReport {
  std::optional<MeetingPlace> meeting;  ///< of the first node
  bool bringing = false;                ///< its workload has ended, and it brings the files that this has left
  bool ended = false;                   ///< its workload has, and the leader has all that it recorded
  std::optional<Error> error;           ///< how it failed
};

struct PartAnswer {
  int open = 0;               ///< further nodes that have not ended
  int bringing = 0;           ///< those of them that only bring files any more
  std::optional<Error> lost;  ///< why the run cannot go on
};

json::object to_json(const PartOfRun& part);
json::object to_json(const PartReport& report);
json::object to_json(const PartAnswer& answer);
/// Any value.
Result<PartOfRun> part_of_run_from_json(const json::value& value);
/// Any text: `usage`. Texts have limits.
Result<PartReport> parse_part_report(std::string_view text);
/// Any value.
Result<PartAnswer> part_answer_from_json(const json::value& value);

}  // namespace assay
