#pragma once

#include <limits>
#include <map>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "watch/rule_view.h"
#include "watch/watch_rules.h"

namespace assay {

/// What the sentence of an alert is made of; NaN is not known.
struct SentenceFacts {
  std::string subject;  ///< names the thing
  double value = std::numeric_limits<double>::quiet_NaN();
  double worst = std::numeric_limits<double>::quiet_NaN();
  /// Where the value comes from: the temperature, clock or use of one that is compared with others; the bytes that are
  /// taken; the clock's difference with its sign.
  double own = std::numeric_limits<double>::quiet_NaN();
  double total = std::numeric_limits<double>::quiet_NaN();  ///< bytes that there are
  Nanos lasted{};                                           ///< since it began
  std::string note;                                         ///< a further sentence
};

/// `GPU 3 of gpu07`; by its UUID where the view does not have it.
std::string gpu_words(const NodeView& node, std::string_view uuid);

/// What an alert says while it is open: the value now, its limit, the worst that it was, and for how long.
std::string sentence_of(RuleId rule, const SentenceFacts& facts, const Rule& settings);

/// What it says once it is resolved: how things are now, and how bad they were for how long.
std::string resolved_sentence_of(RuleId rule, const SentenceFacts& facts, const Rule& settings);

/// What else is known of a GPU in that moment.
std::map<std::string, double> values_of(const GpuView& gpu);

}  // namespace assay
