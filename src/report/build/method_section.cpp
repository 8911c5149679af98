#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/text.h"
#include "report/build/figures.h"
#include "report/build/sections.h"

namespace assay {
namespace {

std::string hashes_of(std::span<const RecordedRun> runs) {
  std::set<std::string> hashes;
  for (const auto& one : runs) {
    if (!one.run.spec_hash.empty()) hashes.insert(one.run.spec_hash.substr(0, 12));
  }
  constexpr std::size_t kMostShown = 8;
  std::vector<std::string> shown;
  for (const auto& hash : hashes) {
    if (shown.size() == kMostShown) break;
    shown.push_back(hash);
  }
  std::string text = join(shown, ", ");
  if (hashes.size() > kMostShown) text += fmt::format(" and {} more", hashes.size() - kMostShown);
  return text;
}

/// Whether repeats differ in what a seed decides. Programs that were merely wrapped may not ask for one.
std::string seeds_of(std::span<const Arm> arms) {
  const bool repeated = std::any_of(arms.begin(), arms.end(), [](const Arm& arm) { return arm.usable.size() > 1; });
  const bool trains = std::any_of(arms.begin(), arms.end(), [](const Arm& arm) { return arm.any().kind == "train"; });
  if (!repeated || !trains) return "";
  return std::any_of(arms.begin(), arms.end(), share_one_seed)
             ? "the same in every repeat: the spread of speeds is that of the machine, and nothing tells how far the "
               "quality depends on the seed"
             : "one for each repeat, the same for all configurations";
}

}  // namespace

std::optional<Section> method_section(const Answers& answers) {
  const ReportInput& input = answers.input;
  FactList facts{.id = "method"};
  const auto add = [&](std::string name, std::string text) {
    facts.facts.emplace_back(std::move(name), std::move(text));
  };
  std::size_t left_out = 0;
  for (const auto& one : input.runs) left_out += usable(one.run) ? 0 : 1;
  add("Runs used",
      left_out == 0
          ? fmt::format("all {}", input.runs.size())
          : fmt::format("{} of {}: failed, invalid and unfinished ones are listed, and nothing is computed from them",
                        input.runs.size() - left_out, input.runs.size()));
  add("Repeats", "whole runs; steps inside one run are never taken as repeats");
  if (const auto seeds = seeds_of(answers.arms); !seeds.empty()) add("Seeds", seeds);
  if (answers.scaling) {
    add("Scaling",
        answers.scaling->curves.front().by_time
            ? "speed-up = time of the baseline / time of the size; efficiency = speed-up / ideal speed-up"
            : "speed-up = samples/s of the size / samples/s of the baseline, since the sizes did unequal work");
    add("Intervals", "95 %, from the spread of the repeats (t distribution; ratios on the logarithmic scale)");
    add("Bands",
        "inside one node: excellent from 90 %, good from 85 %, fair from 70 %; across nodes: 90 %, 75 %, 70 %");
  }
  if (answers.matrix) {
    add("Significance",
        fmt::format(
            "Welch's t-test with Holm's correction over the matrix, level 5 %{}; fewer than 5 repeats in an arm "
            "give no verdict",
            answers.outcomes->families > 1
                ? fmt::format(" shared in {} equal parts with the other figures", answers.outcomes->families)
                : ""));
    add("Recommendation",
        "the fastest that misses no expectation, loses no quality beyond noise (5 %, not corrected, so as to see a "
        "loss rather too often) and takes no longer to get as far as the baseline");
    add("Work per sample", "compared by tokens where samples differ in length by more than 1 %");
  }
  if (answers.serving) {
    add("Throughput", "finished samples over the wall clock of all nodes; lost samples count against it");
    add("Baseline", "a speed-up is given only against a rate of one node that was measured");
  }
  add("Settings", hashes_of(input.runs).empty() ? "not recorded" : "hash " + hashes_of(input.runs));
  std::set<std::string> versions;
  for (const auto& one : input.runs) {
    if (!one.run.provenance.assay_version.empty()) versions.insert(one.run.provenance.assay_version);
  }
  add("Recorded by", versions.empty() ? "imported" : "assay " + join(versions, ", "));
  return Section{.blocks = {std::move(facts)}, .in_terminal = false};
}

}  // namespace assay
