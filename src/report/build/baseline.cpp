#include "report/build/baseline.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "report/build/answers.h"

namespace assay {
namespace {

/// Shorter beginnings of ids are more likely a slip.
constexpr std::size_t kShortestIdPart = 3;

bool bears_id(const Arm& arm, std::string_view name) {
  const auto matches = [&](const RecordedRun* one) {
    return one->run.id == name || (name.size() >= kShortestIdPart && one->run.id.starts_with(name));
  };
  return std::any_of(arm.usable.begin(), arm.usable.end(), matches) ||
         std::any_of(arm.others.begin(), arm.others.end(), matches);
}

bool is_tagged(const Arm& arm) {
  const auto& tags = arm.any().tags;
  return std::find(tags.begin(), tags.end(), "baseline") != tags.end();
}

bool is_baseline_by_name(const Arm& arm) { return arm.name == "baseline" || arm.name.starts_with("baseline, "); }

}  // namespace

bool is_called(const Arm& arm, std::string_view name) {
  const Run& run = arm.any();
  const bool by_size = size_name(run) == name || fmt::format("ranks={}", run.ranks) == name;
  return arm.name == name || run.variant == name || by_size || bears_id(arm, name);
}

std::size_t choose_baseline(std::span<const Arm* const> arms, std::string_view asked) {
  const auto place_of = [&](const auto& fits) -> std::optional<std::size_t> {
    const auto found = std::find_if(arms.begin(), arms.end(), [&](const Arm* arm) { return fits(*arm); });
    if (found == arms.end()) return std::nullopt;
    return static_cast<std::size_t>(found - arms.begin());
  };
  if (!asked.empty()) {
    // Its own name first: sizes and ids may fit several.
    if (const auto named = place_of([&](const Arm& arm) { return arm.name == asked; })) return *named;
    if (const auto called = place_of([&](const Arm& arm) { return is_called(arm, asked); })) return *called;
  }
  if (const auto tagged = place_of(is_tagged)) return *tagged;
  return place_of(is_baseline_by_name).value_or(0);
}

Result<void> check_baseline(std::span<const Arm> arms, std::string_view asked) {
  if (asked.empty()) return {};
  if (std::any_of(arms.begin(), arms.end(), [&](const Arm& arm) { return is_called(arm, asked); })) return {};
  std::vector<std::string> names;
  names.reserve(arms.size());
  for (const auto& arm : arms) names.push_back(arm.name);
  const auto meant = nearest(asked, names);
  constexpr std::size_t kMostNames = 20;
  const std::size_t hidden = names.size() > kMostNames ? names.size() - kMostNames : 0;
  names.resize(names.size() - hidden);
  return Error{.kind = ErrorKind::usage,
               .message = fmt::format("--baseline '{}' is none of the configurations.{}", printable(asked),
                                      meant ? fmt::format(" Did you mean '{}'?", *meant) : ""),
               .hint = fmt::format("There are: {}{}.", join(names, "; "),
                                   hidden > 0 ? fmt::format("; and {} more", hidden) : "")};
}

}  // namespace assay
