#include "analysis/leaderboard.h"

#include <algorithm>

#include "analysis/ablation.h"
#include "analysis/intervals.h"
#include "analysis/statistics.h"

namespace assay {
namespace {

bool ranks(const LeaderboardEntry& entry, const LeaderboardRow& row) { return entry.valid && row.value; }

void mark_cost_front(std::vector<LeaderboardRow>& rows, std::span<const LeaderboardEntry> entries, bool higher) {
  std::vector<LeaderboardRow*> members;
  std::vector<std::vector<double>> points;
  for (LeaderboardRow& row : rows) {
    if (!row.rank) continue;
    const auto& cost = entries[row.entry].cost;
    if (!cost || cost->currency != entries[rows.front().entry].cost.value_or(Money{}).currency) return;
    members.push_back(&row);
    points.push_back({higher ? -*row.value : *row.value, cost->amount});
  }
  const auto front = pareto_front(points);
  for (std::size_t i = 0; i < members.size(); ++i) members[i]->on_cost_front = front[i];
}

}  // namespace

std::vector<LeaderboardRow> leaderboard(std::span<const LeaderboardEntry> entries, Direction better) {
  const bool higher = better == Direction::higher_is_better;
  std::vector<LeaderboardRow> rows;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    LeaderboardRow row{.entry = i};
    const auto values = finite_values(entries[i].values);
    if (!values.empty()) row.value = mean(values);
    row.interval = t_interval(values);
    rows.push_back(row);
  }
  std::stable_sort(rows.begin(), rows.end(), [&](const LeaderboardRow& a, const LeaderboardRow& b) {
    const bool a_ranks = ranks(entries[a.entry], a);
    const bool b_ranks = ranks(entries[b.entry], b);
    if (a_ranks != b_ranks) return a_ranks;
    if (!a_ranks) return false;
    return higher ? *a.value > *b.value : *a.value < *b.value;
  });
  for (std::size_t i = 0; i < rows.size() && ranks(entries[rows[i].entry], rows[i]); ++i) {
    const bool tied = i > 0 && rows[i].value == rows[i - 1].value;
    rows[i].rank = tied ? *rows[i - 1].rank : i + 1;
    if (i == 0 || tied) continue;
    const auto comparison =
        compare_arms(entries[rows[i - 1].entry].values, entries[rows[i].entry].values, {.better = better});
    rows[i].close_to_above = comparison.verdict != ArmVerdict::worse;
  }
  mark_cost_front(rows, entries, higher);
  return rows;
}

}  // namespace assay
