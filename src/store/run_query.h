#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "model/run_state.h"

namespace assay {

struct Run;

/// What a field of a run is compared by.
enum class RunFieldKind {
  text,      ///< id, name, kind, state, verdict, study, variant, host
  several,   ///< tag, node: true if it holds for any of those the run has (`!=`: for none)
  number,    ///< ranks, nodes
  time,      ///< created: Unix seconds
  duration,  ///< duration: seconds
  metric,    ///< metrics.X: false for runs without that metric
};
/// Nothing if runs have no such field.
std::optional<RunFieldKind> run_field_kind(std::string_view field);
/// "loss" of "metrics.loss".
std::string metric_of(std::string_view field);
/// As conditions and indexes hold times: exact to the millisecond.
double unix_seconds(WallTime time);

/// One condition of a filter: `verdict=valid`, `duration>10s`, `metrics.loss<0.5`, `name~mnist` (contains, whatever
/// the case of letters), `name^=llm` (starts with).
struct Condition {
  enum class Op { equal, not_equal, less, less_equal, greater, greater_equal, contains, starts_with };
  std::string field;  ///< one that `run_field_kind` knows
  Op op = Op::equal;
  std::string text;   ///< for text fields, and the original spelling
  double number = 0;  ///< for numeric fields: seconds, Unix seconds, plain numbers
};

struct RunQuery {
  std::vector<Condition> conditions;  ///< all must hold
  std::string sort = "created";       ///< a field, or metrics.X; runs without the metric come last
  bool descending = true;
  std::int64_t limit = -1;  ///< -1: all
  std::string after;        ///< the `next` of another page of the same query; empty: from the beginning
  std::optional<std::uint64_t> changed_after;  ///< only runs whose newest change (see RunStore::changes) came later
};

/// What a list shows of a run; `find_run` has the rest.
struct RunRow {
  std::string id;
  std::string name;
  std::string kind;
  RunState state = RunState::queued;
  Verdict verdict = Verdict::none;
  std::vector<std::string> tags;
  std::string study;
  std::string variant;
  int repeat = 0;
  int ranks = 1;
  int nodes = 1;
  std::string host;
  std::vector<std::string> on;  ///< nodes of a cluster that it was given, in the order of its ranks
  WallTime created{};
  WallTime started{};  ///< its workload; the epoch: not yet
  Nanos duration{};
  std::map<std::string, double> metrics;
};

RunRow row_of(const Run& run);
/// The value of a field of text.
std::string text_of(const RunRow& row, std::string_view field);
/// The values of a field of kind `several`.
const std::vector<std::string>& values_of(const RunRow& row, std::string_view field);
/// The value of a field that is none; nothing for a metric that the run does not have, or that is not a number.
std::optional<double> number_of(const RunRow& row, std::string_view field);

/// There may be fewer rows than the limit, even none, and still a `next`: so far was looked.
struct RunPage {
  std::vector<RunRow> rows;
  std::optional<std::int64_t> total;  ///< that match, on all pages; absent where counting them takes too long
  std::string next;                   ///< `RunQuery::after` of the next page; empty where there is none
};

/// Reads `verdict=valid tag=4gpu metrics.loss<0.5 created>2d`: conditions separated by white space; a word that is no
/// condition goes on with the value before it (`name=my first run verdict=valid`); values may be quoted; `last=5m` is
/// `created>5m`; a time is ISO 8601 or an age (`2d`, `3h`: `created>2d` means within the last two days, hence `now`);
/// durations need a unit. All mistakes in one error of kind `usage`, with did-you-mean for fields.
Result<std::vector<Condition>> parse_conditions(std::string_view text, WallTime now);

/// Checks a sort key such as `-duration` (descending) or `metrics.loss` and sets it in the query.
Result<void> set_sort(RunQuery& query, std::string_view key);

}  // namespace assay
