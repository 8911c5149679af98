#include "serving/target_remarks.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "spec/spec.h"

namespace assay {
namespace {

constexpr std::size_t kMostProblemsNamed = 3;

double fact(const json::object& facts, std::string_view key) {
  const json::value* value = find_setting(facts, key);
  return value && value->is_number() ? value->to_number<double>() : 0;
}

/// The most frequent first.
std::string problems_text(const json::object& problems) {
  std::vector<std::pair<double, std::string>> sorted;
  for (const auto& [words, times] : problems) {
    if (times.is_number()) sorted.emplace_back(times.to_number<double>(), std::string(words));
  }
  std::sort(sorted.begin(), sorted.end(), std::greater<>());
  std::string text;
  for (std::size_t i = 0; i < std::min(sorted.size(), kMostProblemsNamed); ++i) {
    text += fmt::format("{}{} ({} ×)", i > 0 ? "; " : "", sorted[i].second, sorted[i].first);
  }
  return text;
}

}  // namespace

std::vector<Flag> flags_of_target(const json::object& facts) {
  std::vector<Flag> flags;
  const double estimated = fact(facts, "token_counts.estimated");
  if (estimated > 0) {
    flags.push_back(
        {"tokens_estimated", "target",
         fmt::format("The server did not count the tokens of {} answers; their chunks were counted.", estimated)});
  }
  const double cut_short = fact(facts, "cut_short");
  if (cut_short > 0) {
    flags.push_back({"answers_cut_short", "target",
                     fmt::format("{} streams ended with neither a finish_reason nor [DONE]: the server may have broken "
                                 "them off, and their tokens count.",
                                 cut_short)});
  }
  const double waited = fact(facts, "waited_for_connection");
  if (waited > 0) {
    flags.push_back(
        {"waited_for_connection", "target",
         fmt::format("{} requests waited in the client for a connection: raise 'target.connections'.", waited)});
  }
  const json::value* problems = facts.if_contains("problems");
  if (problems && problems->is_object() && !problems->get_object().empty()) {
    flags.push_back({"target_problems", "target", problems_text(problems->get_object())});
  }
  return flags;
}

std::optional<Flag> flag_of_repeats(std::uint64_t asked, std::uint64_t prompts, bool asked_before,
                                    const json::object& facts) {
  if (asked <= prompts && !asked_before) return std::nullopt;
  const double input = fact(facts, "prefix_cache.input_tokens");
  const double cached = fact(facts, "prefix_cache.cached_tokens");
  if (input > 0 && cached == 0) return std::nullopt;
  const std::string had =
      input > 0 ? fmt::format("had {:.0f} % of their tokens", cached / input * 100) : "does not say how much it had";
  return Flag{
      "prompts_repeated", "requests",
      fmt::format("{} requests were made of the {} prompts of a file{}: a prefix cache answers those that it has "
                  "seen faster. The server {}. Give it more prompts, or serve without that cache.",
                  asked, prompts, asked_before ? ", which earlier loads of the search had asked for" : "", had)};
}

void put_target_metrics(const json::object& facts, json::object& metrics) {
  const double input = fact(facts, "prefix_cache.input_tokens");
  if (input > 0) metrics["prefix_cache_hit_rate"] = fact(facts, "prefix_cache.cached_tokens") / input;
}

}  // namespace assay
