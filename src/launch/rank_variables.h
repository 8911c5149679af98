#pragma once

#include <cstdint>
#include <map>
#include <string>

// How the processes of a job on several nodes find each other, for whoever starts them.

namespace assay {

struct JobRanks;

/// Which of a job's nodes: 0 is the first.
struct PartOfJob {
  std::int64_t number = 0;
  std::int64_t of = 1;
  bool operator==(const PartOfJob&) const = default;
};

/// Where the ranks of several processes find each other.
struct Rendezvous {
  std::string address;
  int port = 0;
  bool operator==(const Rendezvous&) const = default;
};

/// What the process `local` of this part is told about its place among the others: RANK and the like. Nothing where the
/// job is one process.
std::map<std::string, std::string> rank_variables(const JobRanks& ranks, PartOfJob part, std::int64_t local,
                                                  const Rendezvous& rendezvous);

/// A port that is free at the moment, on all addresses of this machine; 0 where there is none.
int unused_port();

}  // namespace assay
