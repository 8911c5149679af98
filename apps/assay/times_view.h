#pragma once

#include <map>
#include <set>
#include <string>

#include "report/text/style.h"

namespace assay {

struct TimesView {
  std::string table;            ///< empty where a run has no such times
  std::set<std::string> shown;  ///< the metrics that stand in it
};

/// How long the requests of a load took: a row for each kind of time, a column for each percentile that was recorded.
/// Below each other, some thirty names, they hide what they say. Pure.
TimesView view_times(const std::map<std::string, double>& metrics, const TerminalStyle& style);

}  // namespace assay
