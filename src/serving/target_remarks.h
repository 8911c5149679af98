#pragma once

#include <vector>

#include "base/json.h"
#include "model/flag.h"

namespace assay {

/// What a target's facts (`Target::facts`) say that a reader of the results must know: tokens that were not counted by
/// the server, requests that waited in the client, what the server said of requests that failed. Kinds are in
/// docs/reference/verdicts.md.
std::vector<Flag> flags_of_target(const json::object& facts);

/// Adds `prefix_cache_hit_rate` where the server told what its prefix cache had.
void put_target_metrics(const json::object& facts, json::object& metrics);

}  // namespace assay
