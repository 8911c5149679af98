#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "report/build/sections.h"

namespace assay {
namespace {

/// What to do next, each from an issue or an answer.
std::vector<Finding> recommendations_from(const Answers& answers) {
  std::vector<Finding> recommendations;
  const bool by_figure = answers.outcomes && !answers.matrix && !answers.scaling && !answers.nodes && !answers.serving;
  const AblationRecommendation recommendation = answers.matrix ? answers.matrix->ablation.recommendation
                                                : by_figure    ? answers.outcomes->recommendation
                                                               : AblationRecommendation{};
  if (recommendation.arm) {
    recommendations.push_back(
        {Severity::note, "recommended_configuration", answers.outcomes->arms[*recommendation.arm]->name,
         recommendation.provisional ? "The best so far." : "Use this configuration.", recommendation.reason, ""});
  }
  if (answers.scaling) {
    for (const auto& curve : answers.scaling->curves) {
      if (!curve.universal || !curve.universal->best_ranks || curve.universal->exact) continue;
      recommendations.push_back({Severity::note, "best_size", curve.group,
                                 fmt::format("Do not go beyond about {:.0f} ranks.", *curve.universal->best_ranks),
                                 "The Universal Scalability Law fitted to these runs falls beyond.", ""});
    }
  }
  // One remedy may answer many issues: it is given once, with what it is for.
  std::vector<std::pair<std::string, std::size_t>> given;
  for (const auto& issue : answers.issues) {
    if (issue.remedy.empty() || issue.rule == "flagged") continue;
    const auto known =
        std::find_if(given.begin(), given.end(), [&](const auto& one) { return one.first == issue.remedy; });
    if (known != given.end()) {
      auto& about = recommendations[known->second].about;
      if (!issue.about.empty() && about.size() < 120) about += (about.empty() ? "" : ", ") + issue.about;
      continue;
    }
    given.emplace_back(issue.remedy, recommendations.size());
    recommendations.push_back({Severity::note, issue.rule, issue.about, issue.remedy, "", ""});
  }
  return recommendations;
}

}  // namespace

std::optional<Section> recommendations_section(const Answers& answers) {
  return Section{
      .blocks = {FindingList{
          .id = "recommendations", .findings = recommendations_from(answers), .if_empty = "Nothing to recommend."}}};
}

}  // namespace assay
