#include "store/study_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>
#include <utility>

#include "model/study.h"

namespace assay {
namespace {

using StudyPlace = std::pair<std::int64_t, std::string_view>;

std::int64_t nanoseconds_of(WallTime time) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count();
}

StudyPlace study_place_of(const StudyRow& row) { return {nanoseconds_of(row.created), row.id}; }

/// `TIME.ID`: behind the study that was made then, which need not be there any more.
Result<StudyPlace> read_study_place(std::string_view text) {
  StudyPlace place;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), place.first);
  if (code != std::errc() || end == text.data() + text.size() || *end != '.') {
    return Error{.kind = ErrorKind::usage,
                 .message = fmt::format("'after={}' must be the 'next' of another page of studies", text)};
  }
  place.second = text.substr(static_cast<std::size_t>(end - text.data()) + 1);
  return place;
}

}  // namespace

StudyRow row_of(const Study& study) {
  std::set<std::string_view> configurations;
  std::int64_t begun = 0;
  for (const auto& planned : study.plan) {
    configurations.insert(planned.variant);
    if (!planned.run.empty()) ++begun;
  }
  return {.id = study.id,
          .name = study.name,
          .tags = study.tags,
          .created = study.created,
          .spec_hash = study.spec_hash,
          .configurations = std::ssize(configurations),
          .planned = std::ssize(study.plan),
          .begun = begun};
}

void sort_studies(std::vector<StudyRow>& rows) {
  std::sort(rows.begin(), rows.end(),
            [](const StudyRow& a, const StudyRow& b) { return study_place_of(b) < study_place_of(a); });
}

Result<StudyPage> page_of(std::span<const StudyRow> rows, const StudyQuery& query) {
  auto first = rows.begin();
  if (!query.after.empty()) {
    ASSAY_TRY(const auto place, read_study_place(query.after));
    first = std::partition_point(first, rows.end(), [&](const StudyRow& row) { return place <= study_place_of(row); });
  }
  const bool is_cut = query.limit >= 0 && query.limit < rows.end() - first;
  StudyPage page{.rows = {first, is_cut ? first + query.limit : rows.end()}, .next = {}};
  if (is_cut) {
    page.next = page.rows.empty() ? query.after
                                  : fmt::format("{}.{}", nanoseconds_of(page.rows.back().created), page.rows.back().id);
  }
  return page;
}

}  // namespace assay
