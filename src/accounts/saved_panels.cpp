#include "accounts/saved_panels.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <tuple>

#include "base/ids.h"
#include "base/text.h"
#include "store/run_query.h"

namespace assay {
namespace {

constexpr std::array<std::string_view, 3> kAxes = {"step", "relative", "wall"};
constexpr double kMostSmoothing = 0.98;

Error bad_panel(std::string message, std::string hint = "") {
  return {.kind = ErrorKind::usage, .message = std::move(message), .hint = std::move(hint)};
}

bool is_name(std::string_view text) {
  return !trim(text).empty() && text.size() <= SavedPanels::kLongestName && printable(text) == text &&
         text.find_first_of("\n\t") == std::string_view::npos;
}

Result<void> check_names(const std::vector<std::string>& names, std::string_view what, std::size_t most) {
  if (names.size() > most) return bad_panel(fmt::format("a panel names {} {}s at most", most, what));
  for (const auto& name : names) {
    if (!is_name(name)) return bad_panel(fmt::format("'{}' is no {}", printable(name).substr(0, 100), what));
  }
  return {};
}

}  // namespace

Result<void> check_panel(const PanelContent& content, WallTime now) {
  if (!is_name(content.name)) {
    return bad_panel("a panel has a name",
                     fmt::format("One line of at most {} bytes, not of blanks alone.", SavedPanels::kLongestName));
  }
  if (content.metrics.empty()) return bad_panel("a panel shows one metric at least");
  ASSAY_CHECK(check_names(content.metrics, "metric", SavedPanels::kMostMetrics));
  ASSAY_CHECK(check_names(content.runs, "run", SavedPanels::kMostRuns));
  if (content.filter.size() > SavedPanels::kLongestFilter) {
    return bad_panel(fmt::format("a filter has {} bytes at most", SavedPanels::kLongestFilter));
  }
  ASSAY_CHECK(parse_conditions(content.filter, now));
  if (content.newest < 1 || content.newest > static_cast<std::int64_t>(SavedPanels::kMostRuns)) {
    return bad_panel(fmt::format("'newest' is a number from 1 to {}", SavedPanels::kMostRuns));
  }
  if (!contains(kAxes, content.axis)) {
    return bad_panel(fmt::format("'{}' is no axis", printable(content.axis).substr(0, 100)), "step, relative or wall.");
  }
  if (!(content.smoothing >= 0 && content.smoothing <= kMostSmoothing)) {
    return bad_panel(fmt::format("'smoothing' is a number from 0 to {}", kMostSmoothing));
  }
  return {};
}

Result<PanelRecord> SavedPanels::create(std::string_view user, PanelContent content) {
  ASSAY_CHECK(check_panel(content, clock_.wall()));
  const std::lock_guard lock(saving_);
  ASSAY_CHECK(check_room(user, "", content));
  PanelRecord panel{.id = new_id(), .user = std::string(user), .changed = clock_.wall(), .content = std::move(content)};
  ASSAY_CHECK(panels_.put(panel));
  return panel;
}

Result<PanelRecord> SavedPanels::change(std::string_view id, PanelContent content) {
  ASSAY_CHECK(check_panel(content, clock_.wall()));
  const std::lock_guard lock(saving_);
  return panels_.change(id, [&](PanelRecord& panel) -> Result<void> {
    ASSAY_CHECK(check_room(panel.user, id, content));
    panel.changed = clock_.wall();
    panel.content = std::move(content);
    return {};
  });
}

Result<void> SavedPanels::check_room(std::string_view user, std::string_view id, const PanelContent& content) const {
  const auto count = [&](const auto& fits) {
    return panels_.those([&](const PanelRecord& panel) { return panel.id != id && fits(panel); }).size();
  };
  if (count([&](const PanelRecord& panel) { return panel.user == user; }) >= kMostOfUser) {
    return bad_panel(fmt::format("{} panels are as many as one may have", kMostOfUser), "Remove some first.");
  }
  if (content.shared && count([](const PanelRecord& panel) { return panel.content.shared; }) >= kMostShared) {
    return bad_panel(fmt::format("{} panels are shared already, as many as there may be", kMostShared),
                     "Save it for yourself, or have an administrator remove some.");
  }
  return {};
}

std::vector<PanelRecord> SavedPanels::seen_by(std::string_view user) const {
  auto panels = panels_.those(
      [&](const PanelRecord& panel) { return panel.content.shared || (!user.empty() && panel.user == user); });
  std::sort(panels.begin(), panels.end(), [](const PanelRecord& a, const PanelRecord& b) {
    return std::tie(a.content.name, a.id) < std::tie(b.content.name, b.id);
  });
  return panels;
}

Result<void> SavedPanels::remove(std::string_view id) {
  ASSAY_CHECK(panels_.take(id));
  return {};
}

Result<void> SavedPanels::remove_all_of(std::string_view user) {
  return panels_.remove_those([&](const PanelRecord& panel) { return panel.user == user; });
}

}  // namespace assay
