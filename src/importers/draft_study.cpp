#include "importers/draft_study.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "analysis/statistics.h"
#include "base/hash.h"
#include "base/text.h"
#include "redact/redact.h"

namespace assay {
namespace {

constexpr std::int64_t kMostRanks = 65536;
/// Longer ones do not fit into a time stamp's nanoseconds.
constexpr double kLongestSeconds = 9e9;

struct SettingName {
  std::string_view written;
  std::string_view ours;
};
constexpr std::array kSettingNames = {
    SettingName{"model", "model.name"},
    SettingName{"model_name", "model.name"},
    SettingName{"base_model", "model.name"},
    SettingName{"dataset", "dataset.name"},
    SettingName{"dataset_name", "dataset.name"},
    SettingName{"task", "task"},
    SettingName{"epochs", "epochs"},
    SettingName{"num_epochs", "epochs"},
    SettingName{"num_train_epochs", "epochs"},
    SettingName{"steps", "steps"},
    SettingName{"max_steps", "steps"},
    SettingName{"batch_size", "batch_size"},
    SettingName{"per_device_train_batch_size", "batch_size"},
    SettingName{"gradient_accumulation", "gradient_accumulation"},
    SettingName{"gradient_accumulation_steps", "gradient_accumulation"},
    SettingName{"seq_length", "seq_length"},
    SettingName{"max_seq_length", "seq_length"},
    SettingName{"sequence_length", "seq_length"},
    SettingName{"learning_rate", "learning_rate"},
    SettingName{"lr", "learning_rate"},
    SettingName{"lr_scheduler", "schedule"},
    SettingName{"lr_scheduler_type", "schedule"},
    SettingName{"warmup_steps", "warmup_steps"},
    SettingName{"max_grad_norm", "gradient_clipping"},
    SettingName{"optimizer", "optimizer"},
    SettingName{"optim", "optimizer"},
    SettingName{"weight_decay", "weight_decay"},
    SettingName{"lora_rank", "lora.rank"},
    SettingName{"lora_r", "lora.rank"},
    SettingName{"lora_alpha", "lora.alpha"},
    SettingName{"gradient_checkpointing", "gradient_checkpointing"},
    SettingName{"dropout", "dropout"},
    SettingName{"device", "device"},
    SettingName{"precision", "precision"},
    SettingName{"dtype", "precision"},
    SettingName{"attention", "attention"},
    SettingName{"seed", "seed"},
    SettingName{"data_workers", "data.workers"},
    SettingName{"num_workers", "data.workers"},
};
/// How frameworks call number formats.
constexpr std::array kPrecisions = {
    SettingName{"32", "fp32"},       SettingName{"32-true", "fp32"},    SettingName{"float32", "fp32"},
    SettingName{"16", "fp16"},       SettingName{"16-mixed", "fp16"},   SettingName{"16-true", "fp16"},
    SettingName{"float16", "fp16"},  SettingName{"bf16-mixed", "bf16"}, SettingName{"bf16-true", "bf16"},
    SettingName{"bfloat16", "bf16"},
};

template <std::size_t N>
std::string_view ours_in(const std::array<SettingName, N>& names, std::string_view written) {
  const auto found =
      std::find_if(names.begin(), names.end(), [&](const auto& name) { return name.written == written; });
  return found == names.end() ? std::string_view{} : found->ours;
}

/// A setting that a file has as text, as the value that it is.
json::value setting_value(std::string_view text) {
  if (text == "true" || text == "True") return true;
  if (text == "false" || text == "False") return false;
  if (const auto number = sole_number(text); number && std::isfinite(number->value)) {
    const bool whole = text.find_first_of(".eE") == std::string_view::npos;
    if (!whole) return number->value;
    // A seed of 64 bits would lose digits: it stays text.
    if (std::abs(number->value) < 9e15) return static_cast<std::int64_t>(number->value);
  }
  return json::value(redact(printable(text)));
}

/// What says nothing about what was measured, or is named by the size.
bool sets_runs_apart(std::string_view name) {
  static constexpr std::array<std::string_view, 6> kNot = {"kind",  "name",       "price",
                                                           "ranks", "node_count", "effective_batch"};
  return std::find(kNot.begin(), kNot.end(), name) == kNot.end();
}

void flatten(const json::value& value, const std::string& name, std::map<std::string, std::string>& into) {
  if (const auto* object = value.if_object()) {
    for (const auto& member : *object) {
      flatten(member.value(),
              name.empty() ? std::string(member.key()) : fmt::format("{}.{}", name, std::string_view(member.key())),
              into);
    }
    return;
  }
  if (!sets_runs_apart(name)) return;
  if (const auto* text = value.if_string()) {
    into[name] = *text;
  } else {
    // As people write it: 0.001, not 1E-3.
    into[name] = value.is_double() ? fmt::format("{}", value.get_double()) : json::serialize(value);
  }
}

std::string shareable(std::string_view text) { return redact(printable(text)); }

void make_shareable(std::vector<Flag>& flags) {
  for (auto& flag : flags) {
    flag.about = shareable(flag.about);
    flag.message = shareable(flag.message);
  }
}

void make_shareable(RunWithSeries& recorded) {
  Run& run = recorded.run;
  run.name = shareable(run.name);
  run.variant = shareable(run.variant);
  for (auto& tag : run.tags) tag = shareable(tag);
  run.provenance.hostname = shareable(run.provenance.hostname);
  make_shareable(run.flags);
  if (run.error) {
    run.error->message = shareable(run.error->message);
    run.error->hint = shareable(run.error->hint);
  }
  for (auto& series : recorded.series) series.key.name = printable(series.key.name);
}

Verdict verdict_of(const DraftRun& draft) {
  const Run& run = draft.recorded.run;
  if (run.error) return run.error->kind == ErrorKind::interrupted ? Verdict::interrupted : Verdict::failed;
  const bool invalid = std::any_of(run.flags.begin(), run.flags.end(), [](const Flag& flag) {
    return flag.kind == "lost_samples" || flag.kind == "invalid_result";
  });
  if (invalid || draft.figures_unusable) return Verdict::invalid;
  return run.flags.empty() ? Verdict::valid : Verdict::flagged;
}

}  // namespace

DraftRun draft_run(ImportFormat format, std::string_view kind, std::string_view name) {
  DraftRun draft;
  Run& run = draft.run();
  run.name = name;
  run.kind = kind;
  run.tags = {"imported", fmt::format("imported={}", name_of(format))};
  run.state = RunState::ended;
  run.spec["kind"] = run.kind;
  return draft;
}

void put_metric(Run& run, std::string_view name, double value) {
  if (std::isfinite(value)) run.metrics[std::string(name)] = value;
}
void put_metric(Run& run, std::string_view name, const std::optional<double>& value) {
  if (value) put_metric(run, name, *value);
}
void put_metric(Run& run, std::string_view name, const std::optional<Stated>& value) {
  if (value) put_metric(run, name, value->value);
}
void put_count(Run& run, std::string_view name, std::optional<std::int64_t> value) {
  if (value) put_metric(run, name, static_cast<double>(*value));
}

void put_duration(Run& run, std::optional<double> seconds) {
  if (!seconds || !(*seconds >= 0) || *seconds > kLongestSeconds) return;
  run.duration = Nanos(std::llround(*seconds * 1e9));
  put_metric(run, "duration_seconds", seconds);
}

void put_percentiles(Run& run, std::string_view prefix, std::vector<double> seconds) {
  std::erase_if(seconds, [](double value) { return !std::isfinite(value); });
  if (seconds.empty()) return;
  const auto put = [&](std::string name, double value) {
    if (!run.metrics.contains(name)) put_metric(run, name, value);
  };
  put(fmt::format("mean_{}_seconds", prefix),
      std::accumulate(seconds.begin(), seconds.end(), 0.0) / static_cast<double>(seconds.size()));
  static constexpr std::array<double, 4> kShares = {0.5, 0.9, 0.95, 0.99};
  static constexpr std::array<std::string_view, 4> kNames = {"p50", "p90", "p95", "p99"};
  const auto percentiles = percentiles_nearest(std::move(seconds), kShares);
  for (std::size_t i = 0; i < kShares.size(); ++i) {
    // Only for latencies there is a name of the 95th.
    if (kNames[i] == "p95" && prefix != "latency") continue;
    put(fmt::format("{}_{}_seconds", prefix, kNames[i]), percentiles[i]);
  }
}

void put_setting(json::object& spec, std::string_view name, json::value value) {
  const std::size_t dot = name.find('.');
  if (dot == std::string_view::npos) {
    spec[name] = std::move(value);
    return;
  }
  json::value& inner = spec[name.substr(0, dot)];
  if (!inner.is_object()) inner.emplace_object();
  // A parameter's own name may have dots.
  inner.get_object()[name.substr(dot + 1)] = std::move(value);
}

void put_setting(json::object& spec, std::string_view name, std::optional<std::int64_t> value) {
  if (value) put_setting(spec, name, json::value(*value));
}

void put_settings(json::object& spec, const std::map<std::string, std::string, std::less<>>& written) {
  static const std::set<std::string, std::less<>> kSizes = {"num_gpus", "world_size", "num_nodes"};
  std::map<std::string, std::string> known;
  flatten(spec, "", known);
  for (const auto& [name, text] : written) {
    if (text.empty() || kSizes.contains(name)) continue;
    const std::string_view ours = ours_in(kSettingNames, lower_case(name));
    const std::string key = ours.empty() ? "params." + printable(name) : std::string(ours);
    if (!known.emplace(key, text).second) continue;
    const std::string_view precision =
        ours == "precision" ? ours_in(kPrecisions, lower_case(text)) : std::string_view{};
    put_setting(spec, key, precision.empty() ? setting_value(text) : json::value(precision));
  }
}

bool is_setting_name(std::string_view written) { return !ours_in(kSettingNames, lower_case(written)).empty(); }

void put_size(DraftRun& draft, std::optional<std::int64_t> ranks, std::optional<std::int64_t> nodes) {
  Run& run = draft.run();
  const auto sensible = [](std::optional<std::int64_t> count) { return count && *count > 0 && *count <= kMostRanks; };
  if (sensible(ranks)) {
    run.ranks = static_cast<int>(*ranks);
    put_setting(run.spec, "ranks", ranks);
    draft.size = fmt::format("ranks={}", *ranks);
  }
  if (!sensible(nodes)) return;
  run.nodes = static_cast<int>(*nodes);
  put_setting(run.spec, "node_count", nodes);
  if (*nodes > 1) draft.size += fmt::format("{}nodes={}", draft.size.empty() ? "" : ", ", *nodes);
}

ErrorKind error_kind_in(std::string_view text) {
  const std::string lower = lower_case(text);
  const auto says = [&](std::string_view words) { return lower.find(words) != std::string::npos; };
  if (says("out of memory") || says("outofmemory") || says("oom")) return ErrorKind::oom;
  if (says("timeout") || says("timed out") || says("time limit")) return ErrorKind::timeout;
  if (says("cancel") || says("interrupt") || says("preempt")) return ErrorKind::interrupted;
  return ErrorKind::crash;
}

void settle_variants(DraftStudy& draft) {
  std::vector<std::map<std::string, std::string>> settings(draft.runs.size());
  std::map<std::string, std::string> first;
  std::set<std::string> differing;
  for (std::size_t i = 0; i < draft.runs.size(); ++i) {
    if (!draft.runs[i].run().variant.empty()) continue;
    flatten(draft.runs[i].run().spec, "", settings[i]);
    for (const auto& [name, value] : settings[i]) {
      if (first.emplace(name, value).first->second != value) differing.insert(name);
    }
  }
  std::map<std::pair<std::string, std::string>, int> repeats;
  for (std::size_t i = 0; i < draft.runs.size(); ++i) {
    DraftRun& one = draft.runs[i];
    Run& run = one.run();
    if (run.variant.empty()) {
      run.variant = one.size;
      for (const auto& name : differing) {
        const auto value = settings[i].find(name);
        if (value == settings[i].end()) continue;
        run.variant += fmt::format("{}{}={}", run.variant.empty() ? "" : ", ", name, value->second);
      }
      if (run.variant.empty()) run.variant = "baseline";
    }
    run.repeat = repeats[{run.variant, one.told_by_node ? one.node : ""}]++;
  }
}

ImportedStudy finish_study(DraftStudy draft) {
  ImportedStudy imported;
  imported.study.tags = {"imported"};
  imported.study.flags = std::move(draft.flags);
  make_shareable(imported.study.flags);
  for (auto& one : draft.runs) {
    Run& run = one.run();
    if (run.verdict == Verdict::none) run.verdict = verdict_of(one);
    if (run.spec_hash.empty()) run.spec_hash = content_hash(json::serialize(run.spec));
    make_shareable(one.recorded);
    imported.study.plan.push_back({.variant = run.variant,
                                   .repeat = run.repeat,
                                   .ranks = run.ranks,
                                   .nodes = run.nodes,
                                   .node = shareable(one.node),
                                   .spec = run.spec});
    imported.runs.push_back(std::move(one.recorded));
  }
  return imported;
}

}  // namespace assay
