#include "report/build/gather.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "base/json.h"
#include "base/text.h"
#include "model/metric.h"
#include "report/build/baseline.h"
#include "report/build/goals.h"
#include "store/journal/journal.h"
#include "store/read_journals.h"
#include "store/resolve.h"
#include "store/run_store.h"
#include "store/study_list.h"

namespace assay {
namespace {

/// Series that are read beside those that reports draw and those of validation data: who compares two runs asks for
/// them. Telemetry is in reports by its summary.
constexpr std::array<std::string_view, 3> kReadAsWell = {"learning_rate", "samples_per_second", "tokens_per_second"};

constexpr std::size_t kDrawnPoints = 400;

bool drawn(const std::string& name, std::string_view asked) {
  if (!asked.empty()) return name == asked;
  constexpr std::string_view kEpoch = "epoch.";  // imported logs have a value per epoch
  const std::string_view metric = name.starts_with(kEpoch) ? std::string_view(name).substr(kEpoch.size()) : name;
  const auto* known = find_metric(metric);
  return (known != nullptr && known->places.curve > 0) || is_validation(name) ||
         std::find(kReadAsWell.begin(), kReadAsWell.end(), name) != kReadAsWell.end();
}

/// Keeps some hundred points of a series of unknown length: every n-th, n doubling as it grows.
class Thinned {
 public:
  void add(const SeriesPoint& point) {
    last_ = point;
    if (seen_++ % stride_ != 0) return;
    kept_.push_back(point);
    if (kept_.size() < 2 * kDrawnPoints) return;
    for (std::size_t i = 0; 2 * i < kept_.size(); ++i) kept_[i] = kept_[2 * i];
    kept_.resize((kept_.size() + 1) / 2);
    stride_ *= 2;
  }
  std::vector<SeriesPoint> take() {
    if (seen_ > 0 && (seen_ - 1) % stride_ != 0) kept_.push_back(last_);
    return std::move(kept_);
  }

 private:
  std::size_t stride_ = 1;
  std::size_t seen_ = 0;
  SeriesPoint last_;
  std::vector<SeriesPoint> kept_;
};

class CurveReader final : public JournalVisitor {
 public:
  explicit CurveReader(std::string_view asked) : asked_(asked) {}
  void on_points(const SeriesKey& key, std::string_view unit, std::span<const SeriesPoint> points) override {
    if (!drawn(key.name, asked_)) return;
    auto [curve, added] = curves_.try_emplace(key, Curve{std::string(unit), {}});
    for (const auto& point : points) curve->second.points.add(point);
  }
  std::vector<RunSeries> take() {
    std::vector<RunSeries> series;
    series.reserve(curves_.size());
    for (auto& [key, curve] : curves_) series.push_back({key, curve.unit, curve.points.take()});
    return series;
  }

 private:
  struct Curve {
    std::string unit;
    Thinned points;
  };
  std::string_view asked_;
  std::map<SeriesKey, Curve> curves_;
};

Result<std::optional<Study>> study_called(RunStore& store, const std::string& name) {
  ASSAY_TRY(const auto studies, store.list_studies({}));
  const auto found = std::find_if(studies.rows.begin(), studies.rows.end(),
                                  [&](const StudyRow& row) { return row.id == name || row.name == name; });
  if (found == studies.rows.end()) return std::optional<Study>();
  ASSAY_TRY(auto study, store.find_study(found->id));
  return std::optional(std::move(study));
}

Referenced results_of(Study study, const std::string& label) {
  Referenced found{.label = label, .study = std::move(study)};
  // Configurations stand in the order in which the user wrote them, whatever the order in which they ran.
  std::vector<const PlannedRun*> plan;
  for (const auto& planned : found.study->plan) plan.push_back(&planned);
  std::stable_sort(plan.begin(), plan.end(), [](const auto* a, const auto* b) {
    return std::pair(a->repeat, a->configuration) < std::pair(b->repeat, b->configuration);
  });
  for (const auto* planned : plan) {
    if (!planned->run.empty()) found.runs.push_back(planned->run);
  }
  return found;
}

std::string text_in(const json::object& object, std::string_view key) {
  const auto* value = object.if_contains(key);
  return value != nullptr && value->is_string() ? std::string(value->get_string()) : std::string();
}

/// A report does without it where it is missing or damaged.
std::optional<LoadProfile> load_of(RunStore& store, const Run& run) {
  constexpr std::size_t kMostBytes = std::size_t{1} << 20;
  if (run.kind != "serve") return std::nullopt;
  const auto text = read_artifact(store, run.id, kLoadProfileFile, kMostBytes);
  const auto parsed = text ? parse_json(*text) : Result<json::value>(text.error());
  if (!parsed) return std::nullopt;
  auto profile = load_profile_from_json(*parsed);
  return profile ? std::optional(std::move(*profile)) : std::nullopt;
}

/// What `assay run` left with a run. A report does without it where it is missing or damaged.
std::vector<PreflightCheck> preflight_of(RunStore& store, const Run& run) {
  const auto text = read_artifact(store, run.id, "preflight.json");
  const auto parsed = text ? parse_json(*text) : Result<json::value>(text.error());
  std::vector<PreflightCheck> checks;
  if (!parsed || !parsed->is_array()) return checks;
  for (const auto& entry : parsed->get_array()) {
    if (!entry.is_object()) continue;
    const auto& finding = entry.get_object();
    checks.push_back(
        {run.provenance.hostname, text_in(finding, "check"), text_in(finding, "level"), text_in(finding, "found")});
  }
  return checks;
}

/// Of the first run on each host that has one.
std::vector<PreflightCheck> preflight_of(RunStore& store, std::span<const RecordedRun> runs) {
  constexpr std::size_t kMostLooked = 64;
  std::vector<PreflightCheck> checks;
  std::set<std::string> hosts;
  for (const auto& one : runs.first(std::min(runs.size(), kMostLooked))) {
    if (hosts.contains(one.run.provenance.hostname)) continue;
    auto found = preflight_of(store, one.run);
    if (found.empty()) continue;
    hosts.insert(one.run.provenance.hostname);
    checks.insert(checks.end(), found.begin(), found.end());
  }
  return checks;
}

}  // namespace

Result<Referenced> resolve_results(RunStore& store, const std::string& reference) {
  constexpr std::string_view kStudy = "study:";
  if (reference.starts_with(kStudy)) {
    ASSAY_TRY(const auto id, resolve_study(store, reference.substr(kStudy.size())));
    ASSAY_TRY(auto study, store.find_study(id));
    return results_of(std::move(study), reference);
  }
  // Runs bear the name of their study: who writes it means the whole.
  ASSAY_TRY(auto study, study_called(store, reference));
  if (study) return results_of(std::move(*study), reference);
  auto runs = resolve_runs(store, reference);
  if (runs) return Referenced{.label = reference, .runs = std::move(*runs)};
  // The beginning of a study's id.
  if (auto id = resolve_study(store, reference)) {
    ASSAY_TRY(auto found, store.find_study(*id));
    return results_of(std::move(found), reference);
  }
  return runs.error();
}

Result<std::vector<RecordedRun>> read_runs(RunStore& store, std::span<const std::string> ids, std::string_view series) {
  std::vector<RecordedRun> runs;
  for (const auto& id : ids) {
    auto found = store.find_run(id);
    if (!found && found.error().kind == ErrorKind::not_found) continue;
    ASSAY_TRY(auto run, std::move(found));
    CurveReader reader(series);
    const bool curves =
        std::any_of(run.series.begin(), run.series.end(), [&](const auto& one) { return drawn(one.name, series); });
    if (curves) ASSAY_CHECK(read_journal(store, id, reader));
    auto load = load_of(store, run);
    runs.push_back({std::move(run), reader.take(), std::move(load)});
  }
  return runs;
}

Result<ReportInput> gather(RunStore& store, std::span<const std::string> references, ReportOptions options) {
  ReportInput input{.options = std::move(options)};
  std::vector<std::string> ids;
  std::set<std::string> known;
  for (const auto& reference : references) {
    ASSAY_TRY(auto found, resolve_results(store, reference));
    for (auto& id : found.runs) {
      if (known.insert(id).second) ids.push_back(std::move(id));
    }
    if (references.size() == 1) input.study = std::move(found.study);
  }
  ASSAY_TRY(input.runs, read_runs(store, ids));
  input.deleted = ids.size() - input.runs.size();
  if (input.runs.empty()) {
    return Error{.kind = ErrorKind::not_found,
                 .message = "there is no run to report on",
                 .hint = input.deleted > 0 ? "Those of the study were deleted."
                                           : "A study has runs once `assay run` has started them."};
  }
  ASSAY_CHECK(check_baseline(arms_of(input.runs), input.options.baseline));
  input.preflight = preflight_of(store, input.runs);
  input.title = input.study              ? input.study->name
                : references.size() == 1 ? input.runs.front().run.name
                                         : join(references, ", ");
  return input;
}

namespace {

/// What a side of one run is called, where that tells it apart. As the user wrote it, unless that is an id, which says
/// nothing to people.
std::string side_label(const Run& run, const std::string& written) {
  if (!run.variant.empty()) return run.variant;
  return written == run.id && !run.name.empty() ? run.name : written;
}

}  // namespace

Result<std::vector<CompareSide>> gather_sides(RunStore& store, std::span<const std::string> references) {
  std::vector<CompareSide> sides;
  for (const auto& reference : references) {
    ASSAY_TRY(const auto found, resolve_results(store, reference));
    ASSAY_TRY(auto runs, read_runs(store, found.runs));
    if (references.size() == 1) {
      sides = sides_of(runs);
      break;
    }
    std::string label = runs.size() == 1 ? side_label(runs.front().run, found.label) : found.label;
    const auto taken = [&](const CompareSide& side) { return side.label == label; };
    if (std::any_of(sides.begin(), sides.end(), taken)) label = found.label;
    sides.push_back({std::move(label), std::move(runs)});
  }
  const auto empty = std::find_if(sides.begin(), sides.end(), [](const auto& side) { return side.runs.empty(); });
  if (empty != sides.end()) {
    return Error{.kind = ErrorKind::not_found, .message = fmt::format("'{}' has no run yet", empty->label)};
  }
  if (sides.size() < 2) {
    return Error{.kind = ErrorKind::usage,
                 .message = "a comparison needs two sides",
                 .hint = "Name two runs, tags (tag:4gpu) or studies, or one study with several configurations."};
  }
  return sides;
}

}  // namespace assay
