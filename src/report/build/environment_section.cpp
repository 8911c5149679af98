#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "analysis/device_catalogue.h"
#include "base/text.h"
#include "base/units.h"
#include "report/build/figures.h"
#include "report/build/sections.h"

namespace assay {
namespace {

/// A fact about the machine or software, by name. Empty ones are not shown.
std::vector<std::pair<std::string, std::string>> facts_of(const Provenance& machine) {
  std::vector<std::string> gpus;
  gpus.reserve(machine.gpus.size());
  for (const auto& gpu : machine.gpus) gpus.push_back(gpu.name);
  std::string gpu_text = gpus.empty() ? "" : fmt::format("{} × {}", gpus.size(), gpus.front());
  if (std::set<std::string>(gpus.begin(), gpus.end()).size() > 1) gpu_text = join(gpus, ", ");
  std::vector<std::string> seeds;
  seeds.reserve(machine.seeds.size());
  for (const auto& [purpose, seed] : machine.seeds) seeds.push_back(fmt::format("{} {}", purpose, seed));
  std::string commit = machine.git_commit.substr(0, 12);
  if (machine.git_dirty.value_or(false)) commit += " with local changes";
  return {{"Host", machine.hostname},
          {"GPUs", gpu_text},
          {"GPU driver", machine.gpu_driver},
          {"CPU", machine.cpu_cores > 0 ? fmt::format("{}, {} cores used", machine.cpu_model, machine.cpu_cores)
                                        : machine.cpu_model},
          {"Memory", machine.memory_bytes > 0 ? format_bytes({machine.memory_bytes}) : ""},
          {"CPU governor", machine.cpu_governor},
          {"Operating system", machine.os},
          {"Kernel", machine.kernel},
          {"Python", machine.python_version},
          {"PyTorch", machine.torch_version},
          {"Engine", machine.engine_version},
          {"Assay", machine.assay_version},
          {"Source commit", commit},
          {"Seeds", join(seeds, ", ")}};
}

/// The devices of these runs that are in the catalogue, beside what was measured on them.
std::optional<FigureTable> device_table(std::span<const RecordedRun> runs) {
  std::map<std::string, double> probed;  // the highest ceiling that a run measured on it, per device
  for (const auto& one : runs) {
    const auto& machine = one.run.provenance;
    const std::string name = machine.gpus.empty() ? machine.cpu_model : machine.gpus.front().name;
    if (name.empty()) continue;
    auto& ceiling = probed[name];
    ceiling = std::max(ceiling, metric_of(one.run, "peak_flops_per_second").value_or(0) / one.run.ranks);
  }
  FigureTable table{
      .id = "devices",
      .title = "Devices: what vendors state, and what was measured",
      .columns = {{"device", "Device", "", Align::left, true},
                  {"architecture", "Architecture", "", Align::left, false},
                  {"memory_gb", "Memory (GB)", "", Align::right, false},
                  {"fp32_tflops", "FP32 (TFLOP/s)", "", Align::right, false},
                  {"fp16_tflops", "FP16 (TFLOP/s)", "", Align::right, false},
                  {"bandwidth_gb_per_s", "Bandwidth (GB/s)", "", Align::right, false},
                  {"measured_tflops", "Measured (TFLOP/s)", "", Align::right, false},
                  {"cloud", "Cloud", "", Align::left, true}},
      .notes = {"Stated figures are dense peaks; nothing is judged by them. Measured: the ceiling of matrix products "
                "of one rank in the precision of its run."}};
  for (const auto& [name, ceiling] : probed) {
    const DeviceInfo* device = find_device(name);
    if (device == nullptr) continue;
    table.rows.push_back({std::string(device->name), std::string(device->architecture),
                          fixed_figure(device->memory_gb, 0), fixed_figure(device->fp32_tflops, 1),
                          fixed_figure(device->fp16_tflops, 1), fixed_figure(device->bandwidth_gb_per_s, 0),
                          ceiling > 0 ? fixed_figure(ceiling / 1e12, 1) : Figure(), std::string(device->cloud)});
  }
  return table.rows.empty() ? std::nullopt : std::optional(std::move(table));
}

}  // namespace

std::optional<Section> environment_section(const Answers& answers) {
  const auto& runs = answers.input.runs;
  std::map<std::string, std::vector<std::string>> values;
  std::vector<std::string> order;
  for (const auto& one : runs) {
    for (auto& [name, value] : facts_of(one.run.provenance)) {
      if (value.empty()) continue;
      auto& seen = values[name];
      if (seen.empty()) order.push_back(name);
      if (std::find(seen.begin(), seen.end(), value) == seen.end()) seen.push_back(value);
    }
  }
  if (order.empty()) return std::nullopt;
  FactList facts{.id = "environment"};
  bool differ = false;
  for (const auto& name : order) {
    const auto& seen = values[name];
    facts.facts.emplace_back(name, differing_values(seen));
    differ |= seen.size() > 1 && name != "Host" && name != "Seeds";
  }
  Section section{.blocks = {std::move(facts)}, .in_terminal = false};
  if (auto devices = device_table(runs)) section.blocks.emplace_back(std::move(*devices));
  if (differ) {
    section.blocks.emplace_back(Paragraph{
        "The runs did not all have the same environment: values that differ are separated by |.", Tone::warning});
  }
  return section;
}

}  // namespace assay
