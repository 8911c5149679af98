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

std::map<std::string, double> numbers_of(const json::value& object) {
  std::map<std::string, double> numbers;
  if (!object.is_object()) return numbers;
  for (const auto& [name, value] : object.as_object()) {
    if (value.is_number()) numbers[name] = value.to_number<double>();
  }
  return numbers;
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
  std::string text = state;
  if (!drain_reason.empty()) text += fmt::format(", {}: {}", offline() ? "drained" : "because", drain_reason);
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

Result<NodeLine> node_line_from(const json::value& value) {
  JsonFields fields(value, "node");
  NodeLine line{.name = printable(fields.text("name")),
                .state = fields.text("state"),
                .simulated = fields.boolean_or("simulated", false),
                .last_seen = fields.text_or("last_seen", ""),
                .drain_reason = printable(fields.text_or("drain_reason", ""))};
  const auto& values = fields.object_or_empty("values");
  if (const auto* host = values.if_contains("host")) line.host = numbers_of(*host);
  const auto* gpus = values.if_contains("gpus");
  for (const auto& entry : fields.array_or_empty("devices")) {
    JsonFields device(entry, "node: device");
    GpuLine gpu{.uuid = device.text("id")};
    auto facts = device.text_map_or_empty("facts");
    ASSAY_CHECK(device.finish());
    gpu.index = printable(facts["index"]);
    gpu.model = printable(facts["name"]);
    const auto* known = gpus != nullptr && gpus->is_object() ? gpus->as_object().if_contains(gpu.uuid) : nullptr;
    if (known != nullptr) gpu.values = numbers_of(*known);
    line.gpus.push_back(std::move(gpu));
  }
  ASSAY_CHECK(fields.finish());
  return line;
}

Colour colour_of_severity(std::string_view severity) {
  return severity == "critical" ? Colour::red : severity == "warning" ? Colour::yellow : Colour::dim;
}

int rank_of_severity(std::string_view severity) { return severity == "critical" ? 0 : severity == "warning" ? 1 : 2; }

Colour colour_of_state(std::string_view state) {
  if (state == "online") return Colour::green;
  if (state == "offline") return Colour::red;
  return Colour::yellow;
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
