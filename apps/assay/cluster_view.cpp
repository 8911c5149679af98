#include "cluster_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/text.h"
#include "base/units.h"

namespace assay {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

double find_value(const std::map<std::string, double>& values, const std::string& metric) {
  const auto found = values.find(metric);
  return found == values.end() ? kUnknown : found->second;
}

/// What was no number is not known.
std::map<std::string, double> known_values(std::map<std::string, double> values) {
  std::erase_if(values, [](const auto& entry) { return std::isnan(entry.second); });
  return values;
}

}  // namespace

double GpuLine::value(const std::string& metric) const { return find_value(values, metric); }
double NodeLine::host_value(const std::string& metric) const { return find_value(host, metric); }

double NodeLine::mean(const std::string& metric) const {
  double total = 0;
  int count = 0;
  for (const auto& gpu : gpus) {
    if (const double value = gpu.value(metric); !std::isnan(value)) {
      total += value;
      ++count;
    }
  }
  return count > 0 ? total / count : kUnknown;
}

double NodeLine::sum(const std::string& metric) const {
  double total = kUnknown;
  for (const auto& gpu : gpus) {
    if (const double value = gpu.value(metric); !std::isnan(value)) total = std::isnan(total) ? value : total + value;
  }
  return total;
}

double NodeLine::highest(const std::string& metric) const {
  double highest = kUnknown;
  for (const auto& gpu : gpus) highest = std::fmax(highest, gpu.value(metric));
  return highest;
}

std::string NodeLine::state_text() const {
  std::string text(name_of(state));
  if (maintenance && !draining) {
    text += fmt::format(", maintenance from {}{}", local_time(maintenance->from),
                        drain_reason.empty() ? "" : ": " + drain_reason);
  } else if (!drain_reason.empty()) {
    text += fmt::format(", {}: {}", offline() ? "drained" : "because", drain_reason);
  }
  if (maintenance && draining) text += ", until " + local_time(maintenance->until);
  if (simulated) text += ", simulated";
  return text;
}

void NodeLine::drop_old_values() {
  std::int64_t newest = 0;
  for (const auto& gpu : gpus) newest = std::max(newest, gpu.newest_ms);
  for (auto& gpu : gpus) {
    if (offline() || gpu.newest_ms + kGpuSilenceMs < newest) gpu.values.clear();
  }
  if (offline()) host.clear();
}

std::string NodeLine::gpu_text() const {
  std::map<std::string, int> models;
  for (const auto& gpu : gpus) ++models[gpu.model];
  std::string text;
  for (const auto& [model, count] : models) {
    text += fmt::format("{}{} × {}", text.empty() ? "" : ", ", count, model.empty() ? "GPU" : model);
  }
  return text.empty() ? "-" : text;
}

NodeLine line_of(const NodeAnswer& node) {
  NodeLine line{.name = printable(node.record.name),
                .state = node.state,
                .simulated = node.record.simulated,
                .last_seen = node.record.last_seen,
                .drain_reason = printable(node.record.drain_reason),
                .draining = node.record.draining,
                .maintenance = node.record.maintenance};
  const NodeValues values = node.values.value_or(NodeValues{});
  line.host = known_values(values.host);
  for (const auto& device : node.record.devices) {
    const auto fact = [&](const char* name) {
      const auto found = device.facts.find(name);
      return found == device.facts.end() ? std::string() : printable(found->second);
    };
    GpuLine gpu{.uuid = device.id, .index = fact("index"), .model = fact("name")};
    if (const auto known = values.gpus.find(device.id); known != values.gpus.end()) {
      gpu.values = known_values(known->second);
    }
    line.gpus.push_back(std::move(gpu));
  }
  return line;
}

Colour colour_of(AlertSeverity severity) {
  return severity == AlertSeverity::critical  ? Colour::red
         : severity == AlertSeverity::warning ? Colour::yellow
                                              : Colour::dim;
}

Colour colour_of(NodeState state) {
  if (state == NodeState::online) return Colour::green;
  return state == NodeState::offline ? Colour::red : Colour::yellow;
}

Colour colour_of_use(double ratio) {
  return ratio >= 0.5 ? Colour::green : ratio >= 0.05 ? Colour::plain : Colour::dim;
}

Colour colour_of_temperature(double celsius) {
  return celsius >= 85 ? Colour::red : celsius >= 78 ? Colour::yellow : Colour::plain;
}

std::string value_or_dash(double value, std::string_view unit) {
  return std::isnan(value) ? "-" : format_value(value, unit);
}

std::string bar(double ratio, std::size_t width, const TerminalStyle& style) {
  const double filled = std::isnan(ratio) ? 0 : std::clamp(ratio, 0.0, 1.0) * static_cast<double>(width);
  std::string text;
  for (std::size_t i = 0; i < width; ++i) {
    const double part = filled - static_cast<double>(i);
    if (style.unicode) {
      static constexpr const char* kParts[] = {"·", "▏", "▎", "▍", "▌", "▋", "▊", "▉", "█"};
      text += kParts[static_cast<int>(std::lround(std::clamp(part, 0.0, 1.0) * 8))];
    } else {
      text += part >= 0.5 ? '#' : '.';
    }
  }
  return text;
}

}  // namespace assay
