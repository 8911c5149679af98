#include "store/journal/salvage.h"

#include <fmt/format.h>

#include <algorithm>

namespace assay {
namespace {

bool is_workload_metric(std::string_view name) {
  return !name.starts_with("host.") && !name.starts_with("gpu.") && !name.starts_with("workload.");
}

}  // namespace

void Salvager::on_points(const SeriesKey& key, std::string_view unit, std::span<const SeriesPoint> points) {
  const auto [entry, is_new] = places_.try_emplace(key, series_.size());
  if (is_new) series_.push_back({key, std::string(unit), {}});
  for (const auto& point : points) series_[entry->second].tally.add(point.value);
}

Run Salvager::close(Run run, WallTime last_sign, std::string_view owner) const {
  run.series.clear();
  for (const auto& [key, unit, tally] : series_) {
    run.series.push_back(tally.summary(key, unit));
    if (key.labels.empty() && tally.any_finite() && is_workload_metric(key.name)) run.metrics[key.name] = tally.last();
  }
  run.ended = std::max({last_sign, run.started, run.created});
  run.duration = run.ended - (run.started == WallTime{} ? run.created : run.started);
  run.state = RunState::ended;
  run.verdict = Verdict::interrupted;
  run.error = RunError{.kind = ErrorKind::interrupted,
                       .message = fmt::format("the process that recorded this run{} ended without closing it",
                                              owner.empty() ? "" : fmt::format(" ({})", owner)),
                       .hint = "It was killed, or the machine went down. What it had written until then is kept."};
  return run;
}

}  // namespace assay
