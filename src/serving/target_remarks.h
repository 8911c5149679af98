#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/json.h"
#include "model/flag.h"

namespace assay {

/// What a target's facts (`Target::facts`) say that a reader of the results must know: tokens that were not counted by
/// the server, requests that waited in the client, what the server said of requests that failed. Kinds are in
/// docs/reference/verdicts.md.
std::vector<Flag> flags_of_target(const json::object& facts);

/// That prompts of a file were asked for more than once, in one load or in several of a search: a prefix cache answers
/// those that it has seen faster than it would new ones. Nothing where the server said that it had none of them.
std::optional<Flag> flag_of_repeats(std::uint64_t asked, std::uint64_t prompts, bool asked_before,
                                    const json::object& facts);

/// Adds `prefix_cache_hit_rate` where the server told what its prefix cache had.
void put_target_metrics(const json::object& facts, json::object& metrics);

}  // namespace assay
