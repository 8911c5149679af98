#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "launch/rank_variables.h"

namespace assay {

struct Job;

// A job as another machine is asked for it: versioned JSON. Paths of the place stay as names ({scratch}, …): whoever
// hosts it knows what they stand for.

/// Whether it can be: `unsupported` for a job that wants our own standard input, `usage` for one without a program or
/// with text that is not UTF-8 (JSON cannot carry it).
Result<void> check_order(const Job& job);
/// Errors: those of `check_order`.
Result<std::string> write_order(const Job& job);

/// Anything may be in it. `Job::scratch` is where its owner had it, on the owner's machine. Errors: `bad_file`.
Result<Job> read_order(std::string_view text);

/// `1/4`: the second of four.
std::string text_of(PartOfJob part);
/// `usage` for anything but K/N with K < N.
Result<PartOfJob> parse_part(std::string_view text);

}  // namespace assay
