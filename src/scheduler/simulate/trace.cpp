#include "scheduler/simulate/trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/text.h"

namespace assay {
namespace {

constexpr std::uint64_t kMostNodes = 100'000;
constexpr std::size_t kNodesOfRack = 16;

Error wrong_nodes(const std::string& text, std::string_view part, std::string_view rule) {
  return {.kind = ErrorKind::usage,
          .message = fmt::format("'--nodes {}': '{}' {}", text, part, rule),
          .hint = "For example: --nodes 4, --nodes 100x8, --nodes 60x8:H200,40x4:V100@0.5"};
}

std::optional<std::uint64_t> whole_number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<double> positive_number(std::string_view text) {
  double value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc() || end != text.data() + text.size() || !(value > 0 && value < 1e6)) return std::nullopt;
  return value;
}

/// Cuts `text` at the first `mark` and returns what stands behind it.
std::optional<std::string_view> cut_at(std::string_view& text, char mark) {
  const std::size_t place = text.find(mark);
  if (place == std::string_view::npos) return std::nullopt;
  const std::string_view behind = text.substr(place + 1);
  text = text.substr(0, place);
  return behind;
}

}  // namespace

void settle_trace(Trace& trace) {
  std::stable_sort(trace.jobs.begin(), trace.jobs.end(),
                   [](const TraceJob& a, const TraceJob& b) { return a.submitted < b.submitted; });
  if (trace.jobs.empty()) return;
  const double begin = trace.jobs.front().submitted;
  for (TraceJob& job : trace.jobs) job.submitted -= begin;
}

Result<std::vector<NodeOffer>> parse_simulated_nodes(const std::string& text) {
  std::vector<NodeOffer> nodes;
  for (const std::string_view part : split(text, ',')) {
    std::string_view rest = trim(part);
    const auto speed_text = cut_at(rest, '@');
    const auto model = cut_at(rest, ':');
    const auto gpus_text = cut_at(rest, 'x');
    const auto count = whole_number(rest);
    const auto gpus = gpus_text ? whole_number(*gpus_text) : std::optional<std::uint64_t>(1);
    const auto speed = speed_text ? positive_number(*speed_text) : std::optional<double>(1);
    if (!count || *count == 0 || *count > kMostNodes)
      return wrong_nodes(text, part, "does not begin with 1 to 100000 nodes");
    if (!gpus || *gpus == 0 || *gpus > kMostGpusOfNode)
      return wrong_nodes(text, part, "does not say 1 to 64 GPUs behind 'x'");
    if (!speed) return wrong_nodes(text, part, "does not say a speed above 0 behind '@'");
    if (model && model->empty()) return wrong_nodes(text, part, "has no model of GPU behind ':'");
    if (nodes.size() + *count > kMostNodes) return wrong_nodes(text, part, "makes more than 100000 nodes");
    for (std::uint64_t i = 0; i < *count; ++i) {
      NodeOffer node{.name = fmt::format("n{}", nodes.size() + 1)};
      node.rack = fmt::format("rack{}", nodes.size() / kNodesOfRack + 1);
      node.speed = *speed;
      for (std::uint64_t gpu = 0; gpu < *gpus; ++gpu) {
        node.gpus.push_back(
            {.uuid = fmt::format("{}/{}", node.name, gpu), .model = std::string(model.value_or("GPU"))});
      }
      nodes.push_back(std::move(node));
    }
  }
  return nodes;
}

}  // namespace assay
