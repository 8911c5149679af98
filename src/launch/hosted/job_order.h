#pragma once

#include <string>
#include <string_view>

#include "launch/launcher.h"

namespace assay {

// A job as another machine is asked for it: versioned JSON. Paths of the place stay as names ({scratch}, …): whoever
// hosts it knows what they stand for.

/// Whether it can be: `unsupported` for a job that wants our own standard input, `usage` for one without a program or
/// with text that is not UTF-8 (JSON cannot carry it).
Result<void> check_order(const Job& job);
/// Errors: those of `check_order`.
Result<std::string> write_order(const Job& job);

/// Anything may be in it. `Job::scratch` is where its owner had it, on the owner's machine. Errors: `bad_file`.
Result<Job> read_order(std::string_view text);

/// Which of a job's nodes: 0 is the first.
struct PartOfJob {
  std::int64_t number = 0;
  std::int64_t of = 1;
  bool operator==(const PartOfJob&) const = default;
};

/// `1/4`: the second of four.
std::string text_of(PartOfJob part);
/// `usage` for anything but K/N with K < N.
Result<PartOfJob> parse_part(std::string_view text);

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

}  // namespace assay
