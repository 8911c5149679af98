#pragma once

#include "base/json.h"
#include "base/result.h"
#include "store/run_store.h"

namespace assay {

struct RunRow;

// Values of the API about runs. `…_from_json` reads what `to_json` wrote; errors are `bad_file` and name the field.
// Times that programs compare are nanoseconds since the Unix epoch.

json::object to_json(const Lease& lease);
Result<Lease> lease_from_json(const json::value& value);

json::object to_json(const LeaseTerms& terms);
Result<LeaseTerms> lease_terms_from_json(const json::value& value);

json::object to_json(const JournalState& journal);
Result<JournalState> journal_state_from_json(const json::value& value);

json::object to_json(const RunRow& row);
Result<RunRow> run_row_from_json(const json::value& value);

json::object to_json(const RunPage& page);
Result<RunPage> run_page_from_json(const json::value& value);

json::object to_json(const RunQuery& query);
Result<RunQuery> run_query_from_json(const json::value& value);

json::object to_json(const RunChange& change);
Result<RunChange> run_change_from_json(const json::value& value);

json::object to_json(const CurveQuestion& question);
Result<CurveQuestion> curve_question_from_json(const json::value& value);

json::object to_json(const RunCurve& curve);
Result<RunCurve> run_curve_from_json(const json::value& value);

json::object to_json(const Artifact& artifact);
Result<Artifact> artifact_from_json(const json::value& value);

json::object to_json(const ReindexReport& report);
Result<ReindexReport> reindex_report_from_json(const json::value& value);

/// A list under a name: `{"runs": [ … ]}`.
template <typename T>
json::object list_to_json(std::string_view name, const std::vector<T>& values) {
  json::array list;
  for (const auto& value : values) list.push_back(to_json(value));
  return {{name, std::move(list)}};
}
template <typename Read>
auto list_from_json(const json::value& value, std::string_view name, Read read)
    -> Result<std::vector<std::decay_t<decltype(*read(value))>>> {
  JsonFields fields(value, "answer");
  std::vector<std::decay_t<decltype(*read(value))>> all;
  for (const auto& item : fields.array_or_empty(name)) {
    ASSAY_TRY(auto one, read(item));
    all.push_back(std::move(one));
  }
  return all;
}

}  // namespace assay
