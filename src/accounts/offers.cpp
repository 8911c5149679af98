#include "accounts/offers.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <array>

#include "access/token_record.h"
#include "base/text.h"
#include "store/account_tables.h"

namespace assay {
namespace {

constexpr std::array<std::string_view, 5> kKinds = {"train", "serve", "node", "command", "null"};
constexpr std::string_view kShellCharacters = ";&|<>()$`\\\"'\n\r*?[]{}~#!=%";

bool has_wildcard(std::string_view pattern) { return pattern.find_first_of("*?[") != std::string_view::npos; }

/// Whether a path in it leads up and out of the folder that it begins with.
bool climbs(std::string_view text) {
  constexpr std::string_view kBefore = "/ :=,@";
  for (auto at = text.find(".."); at != std::string_view::npos; at = text.find("..", at + 1)) {
    const bool begins = at == 0 || kBefore.find(text[at - 1]) != std::string_view::npos;
    const bool ends = at + 2 == text.size() || text[at + 2] == '/' || text[at + 2] == ' ' || text[at + 2] == ',';
    if (begins && ends) return true;
  }
  return false;
}

/// `*` stands for anything within a folder that the pattern names, not for a way out of it.
bool matches_offer(const std::string& pattern, const std::string& value) {
  return ::fnmatch(pattern.c_str(), value.c_str(), 0) == 0 && (climbs(pattern) || !climbs(value));
}

bool fits_any(const std::vector<std::string>& patterns, const std::string& value) {
  return patterns.empty() || std::any_of(patterns.begin(), patterns.end(),
                                         [&](const std::string& pattern) { return matches_offer(pattern, value); });
}

bool fits_command(const CatalogRecord& entry, const WantedRun& run) {
  if (run.own_surroundings) return false;
  if (entry.commands.empty()) return true;
  const bool harmless = !run.by_shell || run.command.find_first_of(kShellCharacters) == std::string::npos;
  return std::any_of(entry.commands.begin(), entry.commands.end(), [&](const std::string& pattern) {
    if (!has_wildcard(pattern)) return pattern == run.command;
    return harmless && matches_offer(pattern, run.command);
  });
}

bool fits(const CatalogRecord& entry, const WantedRun& run) {
  if (entry.kind != run.kind) return false;
  if (run.kind == "command") return fits_command(entry, run);
  return fits_any(entry.models, run.model) && fits_any(entry.datasets, run.dataset);
}

std::string shown(const WantedRun& run) {
  std::string text = "kind: " + run.kind;
  if (!run.model.empty()) text += ", model: " + run.model;
  if (!run.dataset.empty()) text += ", dataset: " + run.dataset;
  if (!run.command.empty()) text += ", command: " + run.command;
  return printable(text);
}

Error bad_entry(std::string message, std::string hint = "") {
  return {.kind = ErrorKind::usage, .message = std::move(message), .hint = std::move(hint)};
}

}  // namespace

Result<void> check_offer(const std::vector<CatalogRecord>& catalog, const WantedRun& run) {
  if (catalog.empty() && run.kind != "command") return {};
  if (std::any_of(catalog.begin(), catalog.end(), [&](const auto& entry) { return fits(entry, run); })) return {};
  std::vector<std::string> names;
  names.reserve(catalog.size());
  for (const auto& entry : catalog) names.push_back(entry.name);
  return Error{.kind = ErrorKind::denied,
               .message = fmt::format("the catalog does not offer this run ({})", shown(run)),
               .hint = names.empty() ? "Commands are for administrators, unless they put one into the catalog."
                                     : fmt::format("It offers: {}.", join(names, ", "))};
}

Result<void> check_entry(const CatalogRecord& entry) {
  if (!is_token_name(entry.name)) {
    return bad_entry(fmt::format("'{}' cannot be the name of an offer", printable(entry.name)),
                     "1 to 64 letters, digits, '-', '_', '.' and '@'.");
  }
  if (std::find(kKinds.begin(), kKinds.end(), entry.kind) == kKinds.end()) {
    return bad_entry(fmt::format("'{}' is no kind of run", printable(entry.kind)), join(kKinds, ", ") + ".");
  }
  if (entry.kind == "command" && !(entry.models.empty() && entry.datasets.empty())) {
    return bad_entry("a command has no models and data sets", "Name 'commands'.");
  }
  if (entry.kind != "command" && !entry.commands.empty()) {
    return bad_entry(fmt::format("'commands' are for kind: command, and this is kind: {}", entry.kind));
  }
  for (const auto* list : {&entry.models, &entry.datasets, &entry.commands}) {
    const bool bad = list->size() > 1000 || std::any_of(list->begin(), list->end(), [](const std::string& pattern) {
                       return pattern.empty() || pattern.size() > 4096;
                     });
    if (bad) return bad_entry("a list has at most 1000 patterns of 1 to 4096 bytes");
  }
  return {};
}

Result<void> check_quota(const QuotaRecord& quota, const Usage& used, std::int64_t ordered_runs) {
  const auto refuse = [](std::string message, std::string hint) {
    return Error{.kind = ErrorKind::denied, .message = std::move(message), .hint = std::move(hint)};
  };
  if (quota.runs_per_order && ordered_runs > *quota.runs_per_order) {
    return refuse(
        fmt::format("this is a study of {} runs, and your quota allows {}", ordered_runs, *quota.runs_per_order),
        "Ask for fewer at a time.");
  }
  if (quota.runs_at_once && used.runs >= *quota.runs_at_once) {
    return refuse(
        fmt::format("{} of your runs wait or go on, and your quota allows {}", used.runs, *quota.runs_at_once),
        "Wait for one to end, or `assay cancel` it.");
  }
  if (quota.gpu_hours_per_day && used.gpu_hours >= *quota.gpu_hours_per_day) {
    return refuse(fmt::format("your runs used {:.1f} GPU hours within 24 hours, and your quota allows {:.1f}",
                              used.gpu_hours, *quota.gpu_hours_per_day),
                  "Wait until they are longer ago, or ask an administrator for more.");
  }
  return {};
}

Result<void> check_limits(const QuotaRecord& quota) {
  const bool bad = quota.runs_at_once.value_or(0) < 0 || quota.runs_per_order.value_or(0) < 0 ||
                   quota.gpus_at_once.value_or(0) < 0 || !(quota.gpu_hours_per_day.value_or(0) >= 0);
  if (bad) return Error{.kind = ErrorKind::usage, .message = "a limit is a number from 0 on"};
  return {};
}

}  // namespace assay
