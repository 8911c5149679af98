#pragma once

#include <map>
#include <string>
#include <string_view>

#include "watch/cluster_view.h"
#include "watch/rules.h"

namespace assay {

/// `GPU 3 of gpu07`; by its UUID where the view does not have it.
std::string gpu_words(const NodeView& node, std::string_view uuid);

/// What an alert says when it is raised: one sentence with its value. `subject` names the thing.
std::string sentence_of(RuleId rule, std::string_view subject, double value, const Rule& settings);

/// What else is known of a GPU in that moment.
std::map<std::string, double> values_of(const GpuView& gpu);

}  // namespace assay
