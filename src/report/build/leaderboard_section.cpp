#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "analysis/leaderboard.h"
#include "analysis/statistics.h"
#include "report/build/figures.h"
#include "report/build/sections.h"

namespace assay {
namespace {

std::string model_of(const Run& run) {
  const auto* model = run.spec.if_contains("model");
  if (model == nullptr) return "";
  if (model->is_string()) return std::string(model->get_string());
  const auto* name = model->is_object() ? model->get_object().if_contains("name") : nullptr;
  return name != nullptr && name->is_string() ? std::string(name->get_string()) : "";
}

/// What the specification says of the server: a client cannot see it.
std::string said_of_server(const Run& run, std::string_view what) {
  const auto* target = run.spec.if_contains("target");
  const auto* value = target != nullptr && target->is_object() ? target->get_object().if_contains(what) : nullptr;
  return value != nullptr && value->is_string() ? std::string(value->get_string()) : "";
}

/// The target that does nothing computes nothing.
bool computes(const Run& run) { return run.kind != "serve" || said_of_server(run, "name") != "null"; }

std::string device_of(const Run& run) {
  if (auto said = said_of_server(run, "device"); !said.empty()) return said;
  if (!worked_here(run)) return "not stated";
  const auto& machine = run.provenance;
  return machine.gpus.empty() ? machine.cpu_model
                              : fmt::format("{} × {}", machine.gpus.size(), machine.gpus.front().name);
}

std::string software_of(const Run& run) {
  if (auto said = said_of_server(run, "software"); !said.empty()) return said;
  if (said_of_server(run, "name") == "openai") return "not stated";
  const auto& machine = run.provenance;
  if (!machine.engine_version.empty()) return "assay-engine " + machine.engine_version;
  return machine.torch_version.empty() ? run.kind : "PyTorch " + machine.torch_version;
}

std::optional<Money> unit_cost(const Arm& arm, const ReportOptions& options) {
  const auto price = price_of(arm.any(), options);
  if (!price) return std::nullopt;
  const auto rates = values_of(arm.usable, "tokens_per_second");
  if (rates.empty()) return std::nullopt;
  return cost_of(*price, allocation_of(arm.any()), {.tokens_per_second = mean(rates)}).per_million_tokens;
}

}  // namespace

std::optional<Section> leaderboard_section(const Answers& answers) {
  std::vector<LeaderboardEntry> entries;
  std::set<std::string> combinations;
  for (const auto& arm : answers.arms) {
    const Run& run = arm.any();
    auto values = values_of(arm.usable, "tokens_per_second");
    if (!computes(run) || model_of(run).empty() || device_of(run).empty() || values.empty()) continue;
    combinations.insert(model_of(run) + '\n' + device_of(run) + '\n' + software_of(run));
    const auto energy = energy_of_arm(arm, answers.input.options);
    entries.push_back({.model = model_of(run),
                       .device = device_of(run),
                       .software = software_of(run),
                       .values = std::move(values),
                       .cost = unit_cost(arm, answers.input.options),
                       .joules_per_token = energy ? energy->joules_per_token : std::nullopt});
  }
  if (combinations.size() < 2) return std::nullopt;
  FigureTable table{
      .id = "leaderboard",
      .columns = {{"rank", "Rank", "", Align::right, false},
                  {"model", "Model", "", Align::left, true},
                  {"device", "Device", "", Align::left, true},
                  {"software", "Software", "", Align::left, false},
                  {"tokens_per_second", "Tokens/s", "", Align::right, false},
                  {"cost_per_million_tokens", "Per 1 M tokens", "", Align::right, false},
                  {"joules_per_token", "J/token", "", Align::right, false},
                  {"remark", "Remark", "", Align::left, false}},
      .notes = {
          "Close: better than the next, but not by more than the noise of the repeats, or too few of them to say."}};
  for (const auto& row : leaderboard(entries)) {
    const auto& entry = entries[row.entry];
    std::string remark = row.close_to_above ? "close to the one above" : "";
    if (row.on_cost_front) remark += remark.empty() ? "none faster and cheaper" : "; none faster and cheaper";
    table.rows.push_back({row.rank ? count_figure(static_cast<double>(*row.rank)) : Figure(), entry.model, entry.device,
                          entry.software, token_rate_figure(row.value), money_figure(entry.cost),
                          rate_figure(entry.joules_per_token), std::move(remark)});
  }
  drop_empty_columns(table);
  return Section{.blocks = {std::move(table)}};
}

}  // namespace assay
