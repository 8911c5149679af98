#include "store/resolve.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/text.h"
#include "model/run.h"
#include "store/run_query.h"
#include "store/run_store.h"
#include "store/study_list.h"

namespace assay {
namespace {

constexpr std::string_view kTagPrefix = "tag:";
constexpr std::string_view kStudyPrefix = "study:";
constexpr std::string_view kLast = "@last";
constexpr std::size_t kShortestPrefix = 2;
/// How many candidates a message lists.
constexpr std::size_t kListed = 5;
constexpr std::int64_t kFarthestBack = 1'000'000;
/// How many of the newest runs are searched for a name that the user may have meant.
constexpr std::int64_t kSearched = 1000;

Error no_such(std::string_view what, std::string_view reference, std::vector<std::string> names) {
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  Error error{.kind = ErrorKind::not_found, .message = fmt::format("there is no {} '{}'", what, printable(reference))};
  if (const auto near = nearest(reference, names)) error.message += fmt::format(". Did you mean '{}'?", *near);
  return error;
}

Error several(std::string_view reference, std::string_view how, const std::vector<std::string>& candidates) {
  const auto listed = std::min(candidates.size(), kListed);
  std::string list = join(std::span(candidates).first(listed), ", ");
  if (candidates.size() > listed) list += ", …";
  return Error{.kind = ErrorKind::usage, .message = fmt::format("'{}' {}: {}", printable(reference), how, list)};
}

/// How many before the newest: 0 for `@last`, 1 for `@last-1`. An error for anything else that begins with `@`.
Result<std::int64_t> places_back(std::string_view reference) {
  std::string_view rest = reference.substr(std::min(kLast.size(), reference.size()));
  if (reference.starts_with(kLast)) {
    if (rest.empty()) return 0;
    std::int64_t back = 0;
    const auto [end, code] = std::from_chars(rest.data() + 1, rest.data() + rest.size(), back);
    if (rest.front() == '-' && code == std::errc() && end == rest.data() + rest.size() && back >= 0 &&
        back < kFarthestBack)
      return back;
  }
  return Error{.kind = ErrorKind::usage,
               .message = fmt::format("'{}' is not understood. Write '@last' or '@last-1'", printable(reference))};
}

Result<RunPage> list(RunStore& store, std::vector<Condition> conditions, std::int64_t limit, bool newest_first = true) {
  return list_whole(store, {.conditions = std::move(conditions), .descending = newest_first, .limit = limit});
}

Result<std::vector<std::string>> with_tag(RunStore& store, std::string_view reference) {
  const std::string tag(reference.substr(kTagPrefix.size()));
  ASSAY_TRY(const auto page, list(store, {{.field = "tag", .op = Condition::Op::equal, .text = tag}}, -1, false));
  std::vector<std::string> ids;
  for (const auto& row : page.rows) ids.push_back(row.id);
  if (!ids.empty()) return ids;
  ASSAY_TRY(const auto recent, list(store, {}, kSearched));
  std::vector<std::string> tags;
  for (const auto& row : recent.rows) tags.insert(tags.end(), row.tags.begin(), row.tags.end());
  return no_such("run with the tag", tag, std::move(tags));
}

Result<std::vector<std::string>> of_study(RunStore& store, std::string_view reference) {
  ASSAY_TRY(const auto study, resolve_study(store, reference.substr(kStudyPrefix.size())));
  ASSAY_TRY(const auto page, list(store, {{.field = "study", .op = Condition::Op::equal, .text = study}}, -1, false));
  std::vector<std::string> ids;
  for (const auto& row : page.rows) ids.push_back(row.id);
  if (!ids.empty()) return ids;
  return Error{.kind = ErrorKind::not_found, .message = fmt::format("the study '{}' has no runs", study)};
}

Error too_far_back(std::string_view what, std::string_view plural, std::size_t count, std::string_view reference) {
  return {.kind = ErrorKind::not_found,
          .message = count == 0   ? fmt::format("there are no {} yet", plural)
                     : count == 1 ? fmt::format("there is only one {}, so no '{}'", what, reference)
                                  : fmt::format("there are only {} {}, so no '{}'", count, plural, reference)};
}

Result<std::vector<std::string>> nth_last(RunStore& store, std::string_view reference) {
  ASSAY_TRY(const auto back, places_back(reference));
  ASSAY_TRY(const auto page, list(store, {}, back + 1));
  if (back < std::ssize(page.rows)) return std::vector{page.rows.back().id};
  return too_far_back("run", "runs", page.rows.size(), reference);
}

}  // namespace

Result<std::vector<std::string>> resolve_runs(RunStore& store, std::string_view reference) {
  if (reference.starts_with(kTagPrefix)) return with_tag(store, reference);
  if (reference.starts_with(kStudyPrefix)) return of_study(store, reference);
  if (reference.starts_with('@')) return nth_last(store, reference);

  const std::string text(reference);
  // A run that is there but damaged still has an id: other commands may be able to do something about it.
  if (const auto run = store.find_run(text); run.ok() || run.error().kind == ErrorKind::bad_file) {
    return std::vector{text};
  }
  if (!text.empty()) {
    ASSAY_TRY(const auto named, list(store, {{.field = "name", .op = Condition::Op::equal, .text = text}}, 1));
    if (!named.rows.empty()) return std::vector{named.rows.front().id};
  }
  if (text.size() >= kShortestPrefix) {
    ASSAY_TRY(const auto page, list(store, {{.field = "id", .op = Condition::Op::starts_with, .text = text}},
                                    static_cast<std::int64_t>(kListed + 1)));
    if (page.rows.size() == 1) return std::vector{page.rows.front().id};
    if (page.rows.size() > 1) {
      std::vector<std::string> candidates;
      for (const auto& row : page.rows) {
        candidates.push_back(row.name.empty() ? row.id : fmt::format("{} ({})", row.id, row.name));
      }
      return several(reference, "is the beginning of several ids", candidates);
    }
  }
  ASSAY_TRY(const auto recent, list(store, {}, kSearched));
  std::vector<std::string> names;
  for (const auto& row : recent.rows) names.push_back(row.name);
  return no_such("run", reference, std::move(names));
}

Result<std::string> resolve_run(RunStore& store, std::string_view reference) {
  ASSAY_TRY(auto ids, resolve_runs(store, reference));
  if (ids.size() == 1) return std::move(ids.front());
  return several(reference, "stands for several runs, but one is needed", ids);
}

Result<void> resolve_studies(RunStore& store, std::vector<Condition>& conditions) {
  using Op = Condition::Op;
  std::vector<Condition> added;
  for (auto& condition : conditions) {
    if (condition.field != "study" || condition.text.empty()) continue;
    if (condition.op == Op::contains) {
      condition.field = "name";
    } else if (condition.op == Op::equal || condition.op == Op::not_equal) {
      ASSAY_TRY(const auto page, store.list_studies({}));
      const auto& studies = page.rows;
      const bool named =
          std::any_of(studies.begin(), studies.end(), [&](const auto& study) { return study.name == condition.text; });
      const bool is_id =
          std::any_of(studies.begin(), studies.end(), [&](const auto& study) { return study.id == condition.text; });
      if (named && !is_id) {
        condition.field = "name";
      } else {
        ASSAY_TRY(condition.text, resolve_study(store, condition.text));
        continue;
      }
    } else {
      continue;
    }
    // A run of its own may bear the same name.
    if (condition.op != Op::not_equal) added.push_back({.field = "study", .op = Op::not_equal, .text = ""});
  }
  conditions.insert(conditions.end(), added.begin(), added.end());
  return {};
}

Result<std::string> resolve_study(RunStore& store, std::string_view reference) {
  ASSAY_TRY(const auto page, store.list_studies({}));
  const auto& studies = page.rows;
  if (reference.starts_with('@')) {
    ASSAY_TRY(const auto back, places_back(reference));
    if (back < static_cast<std::int64_t>(studies.size())) return studies[static_cast<std::size_t>(back)].id;
    return too_far_back("study", "studies", studies.size(), reference);
  }
  std::vector<std::string> names;
  std::vector<std::string> with_prefix;
  std::optional<std::string> named;
  for (const auto& study : studies) {
    if (study.id == reference) return study.id;
    if (!named && study.name == reference && !reference.empty()) named = study.id;
    if (reference.size() >= kShortestPrefix && study.id.starts_with(reference)) with_prefix.push_back(study.id);
    names.push_back(study.name);
  }
  if (named) return *named;
  if (with_prefix.size() == 1) return with_prefix.front();
  if (with_prefix.size() > 1) return several(reference, "is the beginning of several ids", with_prefix);
  return no_such("study", reference, std::move(names));
}

}  // namespace assay
