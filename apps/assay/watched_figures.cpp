#include "watched_figures.h"

#include <fmt/format.h>

#include <array>
#include <optional>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "base/units.h"
#include "model/metric.h"

namespace assay {
namespace {

using Values = std::map<std::string, double>;

std::optional<double> value_of(const Values& last, std::string_view name) {
  const auto found = last.find(std::string(name));
  return found == last.end() ? std::nullopt : std::optional(found->second);
}

std::vector<std::string> training_figures(const Values& last) {
  static constexpr std::array<std::string_view, 5> kWatched = {"loss", "val_loss", "val_accuracy", "samples_per_second",
                                                               "tokens_per_second"};
  constexpr std::size_t kMost = 3;
  std::vector<std::string> figures;
  for (const auto name : kWatched) {
    const auto value = value_of(last, name);
    if (!value || figures.size() == kMost) continue;
    const MetricInfo* info = find_metric(name);
    figures.push_back(fmt::format("{} {}", name, format_value(*value, info ? info->unit : "")));
  }
  return figures;
}

/// Of the last second, but for what failed: that must not go by unseen.
std::vector<std::string> load_figures(const Values& last, const TerminalStyle& style) {
  std::vector<std::string> figures;
  const double sent = value_of(last, "requests_sent_per_second").value_or(0);
  const auto asked = value_of(last, "requests_asked_per_second");
  figures.push_back(asked ? fmt::format("{:.4g} of {:.4g} req/s", sent, *asked) : fmt::format("{:.4g} req/s", sent));
  figures.push_back(fmt::format("{:.0f} in flight", value_of(last, "requests_in_flight").value_or(0)));
  const double failed = value_of(last, "requests_failed").value_or(0);
  const std::string failures = fmt::format("{:.0f} failed", failed);
  figures.push_back(failed > 0 ? style.paint(Colour::red, failures) : failures);
  for (const std::string_view what : {"ttft", "tpot", "latency"}) {
    const auto median = value_of(last, fmt::format("{}_seconds", what));
    const auto tail = value_of(last, fmt::format("{}_live_p99_seconds", what));
    if (!median || !tail) continue;
    figures.push_back(fmt::format("{} p50 {} p99 {}", what, format_value(*median, "s"), format_value(*tail, "s")));
  }
  return figures;
}

}  // namespace

std::size_t columns_of(std::string_view painted) { return display_width(printable(painted)); }

bool is_load(const Values& last) { return last.contains("requests_sent_per_second"); }

std::string watched_figures(const Values& last, const TerminalStyle& style, std::size_t room) {
  std::string text;
  for (const auto& figure : is_load(last) ? load_figures(last, style) : training_figures(last)) {
    const std::size_t columns = columns_of(figure) + 2;
    if (columns > room) break;
    room -= columns;
    text += "  " + figure;
  }
  return text;
}

}  // namespace assay
