#include "report/build/recorded.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <set>

#include "analysis/statistics.h"
#include "base/json.h"
#include "base/text.h"

namespace assay {
namespace {

/// Settings that do not change what is measured.
constexpr std::array<std::string_view, 8> kBookkeeping = {"name",  "tags",  "price",      "expect",
                                                          "goals", "seeds", "time_limit", "ports"};
/// Where and on how many it runs, and what follows from that. A command's parameters are settings of their own; its
/// text has the size filled in.
constexpr std::array<std::string_view, 7> kSize = {"ranks", "nodes",   "node_count", "effective_batch",
                                                   "seed",  "scaling", "command"};

void flatten(const json::value& value, const std::string& name, std::map<std::string, std::string>& into) {
  if (const auto* object = value.if_object()) {
    for (const auto& [key, member] : *object) {
      flatten(member, name.empty() ? std::string(key) : name + "." + std::string(key), into);
    }
    return;
  }
  if (value.is_string()) {
    into[name] = value.get_string();
  } else {
    into[name] = value.is_double() ? fmt::format("{}", value.get_double()) : json::serialize(value);
  }
}

std::optional<double> number_in(const json::object& spec, std::string_view key) {
  const auto* value = spec.if_contains(key);
  if (value == nullptr || !value->is_number()) return std::nullopt;
  return value->to_number<double>();
}

/// What a run of no study did, without its seed; of one whose settings were not hashed (imported), nothing.
std::string identity_of(const Run& run) {
  if (run.spec_hash.empty()) return "";
  std::string identity;
  for (const auto& [name, value] : settings_of(run)) {
    if (name != "seed") identity += fmt::format("{}={}\n", name, value);
  }
  return identity;
}

/// What the book says of the run's GPUs; nothing where it had none, or of several models, or worked elsewhere.
std::optional<StatedPrice> price_in_book(const Run& run, const PriceBook& book) {
  const auto& gpus = run.provenance.gpus;
  if (gpus.empty() || ran_without_gpu(run) || !worked_here(run)) return std::nullopt;
  const bool alike =
      std::all_of(gpus.begin(), gpus.end(), [&](const auto& gpu) { return gpu.name == gpus.front().name; });
  const auto* entry = alike ? book.find(gpus.front().name) : nullptr;
  if (entry == nullptr) return std::nullopt;
  std::string origin = "price book, " + entry->gpu + (entry->on_demand ? "" : ", spot");
  if (!entry->source.empty()) origin += ": " + entry->source;
  return StatedPrice{.price = {entry->on_demand ? *entry->on_demand : entry->spot.value_or(0), entry->currency, "GPUh"},
                     .origin = std::move(origin),
                     .spot = entry->on_demand ? entry->spot : std::nullopt};
}

}  // namespace

bool usable(const Run& run) { return run.verdict == Verdict::valid || run.verdict == Verdict::flagged; }

std::string_view verdict_name(const Run& run) {
  return run.state == RunState::ended ? name_of(run.verdict) : name_of(run.state);
}

std::string trouble_of(const Run& run) {
  if (run.error) return run.error->message;
  if (run.state != RunState::ended) return "The run has not ended.";
  std::vector<std::string> messages;
  for (const auto& flag : run.flags) {
    const std::string message = flag.about.empty() ? flag.message : flag.about + ": " + flag.message;
    if (std::find(messages.begin(), messages.end(), message) == messages.end()) messages.push_back(message);
  }
  return join(messages, "; ");
}

std::optional<double> metric_of(const Run& run, std::string_view name) {
  const auto found = run.metrics.find(std::string(name));
  if (found == run.metrics.end() || !std::isfinite(found->second)) return std::nullopt;
  return found->second;
}

const SeriesSummary* summary_of(const Run& run, std::string_view name) {
  const auto found =
      std::find_if(run.series.begin(), run.series.end(), [&](const auto& series) { return series.name == name; });
  return found == run.series.end() ? nullptr : &*found;
}

std::optional<double> mean_of_series(const Run& run, std::string_view name) {
  double sum = 0;
  double points = 0;
  for (const auto& series : run.series) {
    if (series.name != name) continue;
    const auto finite = static_cast<double>(series.points - series.non_finite);
    sum += series.mean * finite;
    points += finite;
  }
  return points > 0 ? std::optional(sum / points) : metric_of(run, name);
}

std::optional<double> highest_of_series(const Run& run, std::string_view name) {
  std::optional<double> highest;
  for (const auto& series : run.series) {
    if (series.name != name || series.points == series.non_finite) continue;
    highest = highest ? std::max(*highest, series.max) : series.max;
  }
  return highest;
}

std::vector<std::string> measured_nodes(const Run& run) {
  std::set<std::string> nodes;
  for (const auto& series : run.series) {
    if (const auto node = series.labels.find("node"); node != series.labels.end()) nodes.insert(node->second);
  }
  return {nodes.begin(), nodes.end()};
}

Run part_of_node(const Run& run, const std::string& node) {
  Run part;
  part.id = run.id;
  part.name = run.name;
  std::copy_if(run.series.begin(), run.series.end(), std::back_inserter(part.series), [&](const SeriesSummary& series) {
    const auto label = series.labels.find("node");
    return label != series.labels.end() && label->second == node;
  });
  return part;
}

bool sampled_throughout(const Run& run, std::string_view name) {
  // A log may show one table of the GPUs before its training began.
  constexpr std::int64_t kFewestReadings = 10;
  const auto* series = summary_of(run, name);
  return series != nullptr && series->points - series->non_finite >= kFewestReadings;
}

std::optional<double> best_of(const Run& run, std::string_view name, bool lowest) {
  std::optional<double> best = metric_of(run, name);
  for (const auto& series : run.series) {
    if (series.name != name || series.points == series.non_finite) continue;
    const double value = lowest ? series.min : series.max;
    if (!best || (lowest ? value < *best : value > *best)) best = value;
  }
  return best;
}

std::optional<double> best_val_loss(const Run& run) { return best_of(run, "val_loss", true); }
std::optional<double> best_val_accuracy(const Run& run) { return best_of(run, "val_accuracy", false); }

std::optional<double> tokens_per_sample(const Run& run) {
  const auto tokens = metric_of(run, "tokens_done");
  const auto samples = metric_of(run, "samples_done");
  if (tokens && samples && *samples > 0) return *tokens / *samples;
  const auto token_rate = metric_of(run, "tokens_per_second");
  const auto length = number_in(run.spec, "seq_length");
  return token_rate || metric_of(run, "tokens_done") ? length : std::nullopt;
}

std::optional<std::int64_t> effective_batch(const Run& run) {
  if (const auto stated = number_in(run.spec, "effective_batch")) return static_cast<std::int64_t>(*stated);
  const auto batch = number_in(run.spec, "batch_size");
  if (!batch) return std::nullopt;
  const double accumulation = number_in(run.spec, "gradient_accumulation").value_or(1);
  return static_cast<std::int64_t>(*batch * accumulation * run.ranks);
}

std::optional<MemoryPeak> peak_memory(const Run& run) {
  if (const auto gpu = metric_of(run, "gpu_memory_peak_bytes")) return MemoryPeak{*gpu, true};
  if (sampled_throughout(run, "gpu.memory_used_bytes")) {
    return MemoryPeak{*highest_of_series(run, "gpu.memory_used_bytes"), true};
  }
  if (const auto host = metric_of(run, "host_rss_peak_bytes")) return MemoryPeak{*host, false};
  return std::nullopt;
}

std::optional<StatedPrice> stated_price(const Run& run, const ReportOptions& options) {
  if (options.price) return StatedPrice{.price = *options.price, .origin = "", .spot = {}};
  if (!run.spec.contains("price")) return price_in_book(run, options.book);
  const auto* fields = run.spec.at("price").if_object();
  if (fields == nullptr) return std::nullopt;
  const auto amount = number_in(*fields, "amount");
  const auto* currency = fields->if_contains("currency");
  const auto* per = fields->if_contains("per");
  if (!amount || currency == nullptr || !currency->is_string() || per == nullptr || !per->is_string()) {
    return std::nullopt;
  }
  const bool by_gpu = per->get_string() == "GPUh";
  if (by_gpu && ran_without_gpu(run)) return std::nullopt;
  return StatedPrice{.price = {*amount, std::string(currency->get_string()), std::string(per->get_string())},
                     .origin = "",
                     .spot = {}};
}

std::optional<Price> price_of(const Run& run, const ReportOptions& options) {
  const auto stated = stated_price(run, options);
  return stated ? std::optional(stated->price) : std::nullopt;
}

std::optional<GridIntensity> grid_of(const ReportOptions& options) {
  const auto& power = options.book.power;
  if (options.grid || !power || !power->grams_co2_per_kwh) return options.grid;
  return GridIntensity{.grams_per_kwh = *power->grams_co2_per_kwh,
                       .source = power->source.empty() ? "price book" : "price book: " + power->source};
}

std::optional<double> seconds_paid_for(const Run& run) {
  if (const auto whole = metric_of(run, "duration_seconds")) return whole;
  if (run.duration > Nanos(0)) return seconds_of(run.duration);
  // Imported logs may state nothing else.
  return metric_of(run, "train_seconds");
}

bool ran_without_gpu(const Run& run) {
  const auto* device = run.spec.if_contains("device");
  if (device != nullptr && device->is_string() && device->get_string() == "cpu") return true;
  return run.provenance.gpus.empty() && run.provenance.cpu_cores > 0;
}

bool worked_here(const Run& run) {
  if (run.kind != "serve") return true;
  const auto* target = run.spec.if_contains("target");
  const auto* fields = target == nullptr ? nullptr : target->if_object();
  if (fields == nullptr) return true;
  const auto local = [](const json::value& address) {
    if (!address.is_string()) return true;
    const std::string_view text(address.get_string());
    constexpr std::string_view kLocal[] = {"://127.", "://localhost", "://[::1]"};
    return std::any_of(std::begin(kLocal), std::end(kLocal),
                       [&](std::string_view sign) { return text.find(sign) != std::string_view::npos; });
  };
  const auto* first = fields->if_contains("openai");
  const auto* others = fields->if_contains("endpoints");
  if (first != nullptr && !local(*first)) return false;
  return others == nullptr || !others->is_array() ||
         std::all_of(others->get_array().begin(), others->get_array().end(), local);
}

Allocation allocation_of(const Run& run) { return {.gpus = run.ranks, .nodes = run.nodes}; }

std::map<std::string, std::string> settings_of(const Run& run) {
  std::map<std::string, std::string> settings;
  for (const auto& [key, value] : run.spec) {
    if (!contains(kBookkeeping, std::string_view(key))) flatten(value, std::string(key), settings);
  }
  return settings;
}

std::map<std::string, std::string> settings_beside_size(const Run& run) {
  auto settings = settings_of(run);
  std::erase_if(settings, [](const auto& setting) { return contains(kSize, setting.first); });
  return settings;
}

std::string work_of(const Run& run) {
  std::string work = run.kind;
  for (const auto& [name, value] : settings_beside_size(run)) work += fmt::format("\n{}={}", name, value);
  return work;
}

std::vector<double> values_of(std::span<const RecordedRun* const> runs, std::string_view metric) {
  std::vector<double> values;
  for (const auto* one : runs) {
    if (const auto value = metric_of(one->run, metric)) values.push_back(*value);
  }
  return values;
}

bool share_one_seed(const Arm& arm) {
  std::set<double> seeds;
  for (const auto* one : arm.usable) {
    if (one->run.kind != "train") return false;
    const auto seed = number_in(one->run.spec, "seed");
    if (!seed) return false;
    seeds.insert(*seed);
  }
  return arm.usable.size() > 1 && seeds.size() == 1;
}

std::vector<Arm> arms_of(std::span<const RecordedRun> runs) {
  std::vector<Arm> arms;
  std::map<std::string, std::size_t> place;
  for (const auto& one : runs) {
    const Run& run = one.run;
    const bool in_study = !run.study.empty();
    const std::string key = run.study + '\n' + (in_study ? run.variant : run.name + '\n' + identity_of(run));
    const auto [known, added] = place.emplace(key, arms.size());
    if (added) arms.push_back({in_study && !run.variant.empty() ? run.variant : run.name, {}, {}});
    Arm& arm = arms[known->second];
    (usable(run) ? arm.usable : arm.others).push_back(&one);
  }
  // Names tell arms apart in tables: where two are equal, the run's id is added.
  std::map<std::string, int> uses;
  for (const auto& arm : arms) ++uses[arm.name];
  for (auto& arm : arms) {
    if (uses[arm.name] > 1) arm.name += " (" + arm.any().id + ")";
  }
  return arms;
}

std::string speed_metric(std::span<const RecordedRun> runs) {
  for (const auto* name : {"samples_per_second", "tokens_per_second", "throughput", "events_per_second"}) {
    const auto reports = [&](const RecordedRun& one) { return usable(one.run) && metric_of(one.run, name); };
    if (std::any_of(runs.begin(), runs.end(), reports)) return name;
  }
  return "duration_seconds";
}

std::optional<double> mean_metric(const Arm& arm, std::string_view name) {
  const auto values = values_of(arm.usable, name);
  return values.empty() ? std::nullopt : std::optional(mean(values));
}

}  // namespace assay
