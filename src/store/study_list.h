#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"

namespace assay {

struct Study;

struct StudyQuery {
  std::int64_t limit = -1;  ///< -1: all
  std::string after;        ///< the `next` of another page; empty: from the newest on
};

/// What a list shows of a study; `find_study` has its plan, which may be long.
struct StudyRow {
  std::string id;
  std::string name;
  std::vector<std::string> tags;
  WallTime created{};
  std::string spec_hash;
  std::int64_t configurations = 0;
  std::int64_t planned = 0;  ///< runs of its plan
  std::int64_t begun = 0;    ///< of those
};

StudyRow row_of(const Study& study);

struct StudyPage {
  std::vector<StudyRow> rows;
  std::string next;  ///< `StudyQuery::after` of the next page; empty where there is none
};

/// In the order of every list: newest first.
void sort_studies(std::vector<StudyRow>& rows);
/// What a query shows of these rows, which are sorted. `usage` for an `after` that no page has given.
Result<StudyPage> page_of(std::span<const StudyRow> rows, const StudyQuery& query);

}  // namespace assay
