#include "watch/leader_track.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "base/units.h"
#include "watch/unknown.h"

namespace assay {
namespace {

constexpr std::size_t kLongestProblem = 500;

std::string over_sentence(const Alert& alert, Nanos lasted) {
  return fmt::format("Over after {}. It was: {}", format_duration(std::max(Nanos(0), lasted)), alert.what);
}

}  // namespace

void LeaderTrack::look(const std::vector<LeaderProblem>& problems, const Rule& rule, AlertBoard& board, WallTime now) {
  if (!rule.enabled) return;
  if (!std::exchange(begun_, true)) {
    for (const Alert& alert : board.open_of(kNode)) conditions_[alert.about].restore();
  }
  std::map<std::string, const LeaderProblem*> there;
  for (const LeaderProblem& problem : problems) {
    std::string about = fmt::format("{}: {}", name_of(problem.kind), problem.about);
    if (conditions_.size() >= kMost && !conditions_.contains(about)) continue;
    conditions_.try_emplace(about);
    there.emplace(std::move(about), &problem);
  }
  for (auto one = conditions_.begin(); one != conditions_.end();) {
    auto& [about, condition] = *one;
    const AlertSubject subject{RuleId::leader_problem, kNode, about};
    const auto found = there.find(about);
    const double value = found == there.end() ? 0 : 1;
    const auto change = condition.look(value, rule, RuleInfo::Direction::yes_no, now);
    AlertNews news;
    if (found != there.end()) {
      const LeaderProblem& problem = *found->second;
      news = {.what = printable(std::string_view(problem.text).substr(0, kLongestProblem)),
              .remedy = {},
              .severity = std::min(problem.level, rule.severity),
              .since = std::min(problem.since, now),
              .value = kUnknown,
              .threshold = kUnknown,
              .values = {}};
    }
    if (change == RuleCondition::Change::raised) {
      board.raise(subject, std::move(news));
    } else if (change == RuleCondition::Change::resolved) {
      if (const Alert* alert = board.find(subject)) {
        board.resolve(subject, over_sentence(*alert, now - rule.clear_for - alert->since));
      }
    } else if (condition.raised() && board.touch(subject, value) && found != there.end()) {
      board.renew(subject, std::move(news));
    }
    // One that was just over is quiet for a while, which must be remembered for as long.
    one = value > 0 || condition.raised() || condition.is_quiet(now) ? std::next(one) : conditions_.erase(one);
  }
}

}  // namespace assay
