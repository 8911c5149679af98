#include "model/run.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include <array>

namespace assay {
namespace {

template <typename Enum>
struct Named {
  Enum value;
  std::string_view name;
};

constexpr std::array kStates = {
    Named<RunState>{RunState::queued, "queued"},
    Named<RunState>{RunState::starting, "starting"},
    Named<RunState>{RunState::running, "running"},
    Named<RunState>{RunState::ended, "ended"},
};

constexpr std::array kVerdicts = {
    Named<Verdict>{Verdict::none, "none"},       Named<Verdict>{Verdict::valid, "valid"},
    Named<Verdict>{Verdict::flagged, "flagged"}, Named<Verdict>{Verdict::invalid, "invalid"},
    Named<Verdict>{Verdict::failed, "failed"},   Named<Verdict>{Verdict::interrupted, "interrupted"},
};

template <typename Table, typename Enum>
std::string_view name_in(const Table& table, Enum value) {
  for (const auto& entry : table) {
    if (entry.value == value) return entry.name;
  }
  ASSAY_ASSERT(false);
}

template <typename Table>
auto value_in(const Table& table, std::string_view name) -> std::optional<decltype(table[0].value)> {
  for (const auto& entry : table) {
    if (entry.name == name) return entry.value;
  }
  return std::nullopt;
}

SeriesSummary series_from_json(const json::value& value, JsonFields& outer) {
  JsonFields fields(value, "series");
  SeriesSummary series;
  series.name = fields.text("name");
  series.unit = fields.text_or("unit", "");
  series.labels = fields.text_map_or_empty("labels");
  series.points = fields.integer_or("points", 0);
  series.non_finite = fields.integer_or("non_finite", 0);
  series.first = fields.number_or("first", 0);
  series.last = fields.number_or("last", 0);
  series.min = fields.number_or("min", 0);
  series.max = fields.number_or("max", 0);
  series.mean = fields.number_or("mean", 0);
  if (auto result = fields.finish(); !result) outer.fail("series", "has a bad entry: " + result.error().message);
  return series;
}

Placement placement_from_json(const json::value& value, JsonFields& outer) {
  JsonFields fields(value, "placement");
  Placement placement{.node = fields.text_or("node", ""), .gpus = {}, .place = fields.text_or("place", "")};
  if (fields.find("gpus")) placement.gpus = fields.texts_or_empty("gpus");
  for (const auto& item : fields.array_or_empty("further")) {
    JsonFields node(item, "node");
    placement.further.push_back({.node = node.text("node"), .gpus = node.texts_or_empty("gpus")});
    if (auto result = node.finish(); !result) fields.fail("further", "is bad: " + result.error().message);
  }
  placement.part = fields.small_integer_or("part", 0);
  if (auto result = fields.finish(); !result) outer.fail("placement", "is bad: " + result.error().message);
  return placement;
}

WallTime time_from(JsonFields& fields, std::string_view key) {
  const auto text = fields.text_or(key, "");
  if (text.empty()) return {};
  auto time = parse_iso8601(text);
  if (!time) fields.fail(key, "is not a time");
  return std::move(time).value_or({});
}

Nanos duration_from(JsonFields& fields, std::string_view key) {
  const double nanos = fields.number_or(key, 0) * 1e9;
  // Written so that NaN fails as well.
  if (!(std::fabs(nanos) < 9.2e18)) {
    fields.fail(key, "is not a duration");
    return {};
  }
  return Nanos(std::llround(nanos));
}

void put_time(json::object& object, std::string_view key, WallTime time) {
  if (time != WallTime{}) object[key] = iso8601(time);
}

}  // namespace

std::string_view name_of(RunState state) { return name_in(kStates, state); }
std::string_view name_of(Verdict verdict) { return name_in(kVerdicts, verdict); }
std::optional<RunState> run_state_from(std::string_view name) { return value_in(kStates, name); }
std::optional<Verdict> verdict_from(std::string_view name) { return value_in(kVerdicts, name); }

Flag flag_from_json(const json::value& value, JsonFields& outer) {
  JsonFields fields(value, "flag");
  Flag flag{
      .kind = fields.text("kind"), .about = fields.text_or("about", ""), .message = fields.text_or("message", "")};
  if (auto result = fields.finish(); !result) outer.fail("flags", "has a bad entry: " + result.error().message);
  return flag;
}

json::object to_json(const Flag& flag) {
  return {{"kind", flag.kind}, {"about", flag.about}, {"message", flag.message}};
}

json::object to_json(const SeriesSummary& series) {
  json::object object{{"name", series.name}};
  if (!series.labels.empty()) object["labels"] = json::value_from(series.labels);
  object["unit"] = series.unit;
  object["points"] = series.points;
  if (series.non_finite) object["non_finite"] = series.non_finite;
  object["first"] = finite(series.first);
  object["last"] = finite(series.last);
  object["min"] = finite(series.min);
  object["max"] = finite(series.max);
  object["mean"] = finite(series.mean);
  return object;
}

std::optional<std::size_t> Placement::gpu_count() const {
  if (!gpus) return std::nullopt;
  std::size_t count = gpus->size();
  for (const auto& one : further) count += one.gpus.size();
  return count;
}

json::object to_json(const Placement& placement) {
  json::object object;
  if (!placement.node.empty()) object["node"] = placement.node;
  if (placement.gpus) object["gpus"] = json::value_from(*placement.gpus);
  if (!placement.place.empty()) object["place"] = placement.place;
  if (!placement.further.empty()) {
    json::array nodes;
    for (const auto& one : placement.further) {
      nodes.push_back(json::object{{"node", one.node}, {"gpus", json::value_from(one.gpus)}});
    }
    object["further"] = std::move(nodes);
  }
  if (placement.part != 0) object["part"] = placement.part;
  return object;
}

json::object to_json(const RunError& error) {
  return {{"kind", name_of(error.kind)}, {"message", error.message}, {"hint", error.hint}};
}

json::object to_json(const Run& run) {
  json::object object{
      {"schema", kRunSchema},
      {"id", run.id},
      {"name", run.name},
      {"kind", run.kind},
      {"tags", json::value_from(run.tags)},
      {"state", name_of(run.state)},
      {"verdict", name_of(run.verdict)},
  };
  if (!run.study.empty()) {
    object["study"] = run.study;
    object["variant"] = run.variant;
    object["repeat"] = run.repeat;
  }
  object["ranks"] = run.ranks;
  object["nodes"] = run.nodes;
  if (run.placement != Placement{}) object["placement"] = to_json(run.placement);
  auto& flags = object["flags"].emplace_array();
  for (const auto& flag : run.flags) flags.push_back(to_json(flag));
  if (run.error) object["error"] = to_json(*run.error);
  put_time(object, "created", run.created);
  put_time(object, "started", run.started);
  put_time(object, "ended", run.ended);
  object["duration_seconds"] = seconds_of(run.duration);
  if (run.exit_code) object["exit_code"] = *run.exit_code;
  if (run.signal) object["signal"] = *run.signal;
  auto& metrics = object["metrics"].emplace_object();
  for (const auto& [name, value] : run.metrics) metrics[name] = finite(value);
  auto& series = object["series"].emplace_array();
  for (const auto& one : run.series) series.push_back(to_json(one));
  object["spec"] = run.spec;
  object["spec_hash"] = run.spec_hash;
  object["provenance"] = to_json(run.provenance);
  return object;
}

Result<Run> run_from_json(const json::value& value) {
  ASSAY_CHECK(check_schema(value, kRunSchema, "run"));
  JsonFields fields(value, "run");
  Run run;
  run.id = fields.text("id");
  run.name = fields.text_or("name", "");
  run.kind = fields.text("kind");
  run.tags = fields.texts_or_empty("tags");
  if (const auto state = run_state_from(fields.text("state"))) {
    run.state = *state;
  } else {
    fields.fail("state", "is not queued, starting, running or ended");
  }
  if (const auto verdict = verdict_from(fields.text("verdict"))) {
    run.verdict = *verdict;
  } else {
    fields.fail("verdict", "is not a known verdict");
  }
  run.study = fields.text_or("study", "");
  run.variant = fields.text_or("variant", "");
  run.repeat = fields.small_integer_or("repeat", 0);
  run.ranks = fields.small_integer_or("ranks", 1);
  run.nodes = fields.small_integer_or("nodes", 1);
  if (const auto* placement = fields.find("placement")) run.placement = placement_from_json(*placement, fields);
  for (const auto& flag : fields.array_or_empty("flags")) run.flags.push_back(flag_from_json(flag, fields));
  if (const auto* error = fields.find("error")) {
    JsonFields inner(*error, "error");
    run.error = RunError{.kind = error_kind_from(inner.text_or("kind", "crash")).value_or(ErrorKind::crash),
                         .message = inner.text_or("message", ""),
                         .hint = inner.text_or("hint", "")};
    if (auto result = inner.finish(); !result) fields.fail("error", "is bad: " + result.error().message);
  }
  run.created = time_from(fields, "created");
  run.started = time_from(fields, "started");
  run.ended = time_from(fields, "ended");
  run.duration = duration_from(fields, "duration_seconds");
  if (fields.find("exit_code")) run.exit_code = fields.small_integer("exit_code");
  if (fields.find("signal")) run.signal = fields.small_integer("signal");
  for (const auto& metric : fields.object_or_empty("metrics")) {
    json::error_code code;
    const double number = metric.value().is_null() ? std::nan("") : metric.value().to_number<double>(code);
    if (code) fields.fail("metrics", "must hold numbers");
    run.metrics.emplace(metric.key(), number);
  }
  for (const auto& series : fields.array_or_empty("series")) run.series.push_back(series_from_json(series, fields));
  run.spec = fields.object_or_empty("spec");
  run.spec_hash = fields.text_or("spec_hash", "");
  if (const auto* provenance = fields.find("provenance")) {
    ASSAY_TRY(run.provenance, provenance_from_json(*provenance));
  }
  ASSAY_CHECK(fields.finish());
  return run;
}

}  // namespace assay
