#include "api/run_json.h"

#include <array>
#include <limits>

#include "model/run_state.h"
#include "store/run_curves.h"
#include "store/run_query.h"

namespace assay {
namespace {

constexpr std::array kOwnerNames = {std::pair{JournalOwner::live, "live"}, std::pair{JournalOwner::gone, "gone"},
                                    std::pair{JournalOwner::finished, "finished"}};

constexpr std::array kOpNames = {std::pair{Condition::Op::equal, "="},    std::pair{Condition::Op::not_equal, "!="},
                                 std::pair{Condition::Op::less, "<"},     std::pair{Condition::Op::less_equal, "<="},
                                 std::pair{Condition::Op::greater, ">"},  std::pair{Condition::Op::greater_equal, ">="},
                                 std::pair{Condition::Op::contains, "~"}, std::pair{Condition::Op::starts_with, "^="}};

template <typename Table, typename Value>
const char* spelling(const Table& table, Value value) {
  for (const auto& [known, name] : table) {
    if (known == value) return name;
  }
  ASSAY_ASSERT(false);
}

/// Fails `fields` where the text is none of the table's.
template <typename Table>
auto meaning(const Table& table, JsonFields& fields, std::string_view key) {
  const auto text = fields.text(key);
  for (const auto& [value, name] : table) {
    if (text == name) return value;
  }
  fields.fail(key, "is none that is known");
  return table[0].first;
}

std::int64_t nanos(WallTime time) { return time.time_since_epoch().count(); }
WallTime time_at(std::int64_t nanos) { return WallTime(Nanos(nanos)); }

std::uint64_t natural(JsonFields& fields, std::string_view key) {
  const auto number = fields.integer(key);
  if (number < 0) fields.fail(key, "must not be negative");
  return static_cast<std::uint64_t>(std::max<std::int64_t>(number, 0));
}

template <typename T>
json::array column(const std::vector<CurveBucket>& buckets, T CurveBucket::* member) {
  json::array values;
  for (const auto& bucket : buckets) {
    if constexpr (std::is_same_v<T, double>) {
      values.push_back(finite(bucket.*member));
    } else {
      values.emplace_back(bucket.*member);
    }
  }
  return values;
}

template <typename T>
void read_column(JsonFields& fields, std::string_view key, std::vector<CurveBucket>& buckets, T CurveBucket::* member) {
  const auto& values = fields.array_or_empty(key);
  if (values.size() != buckets.size()) return fields.fail(key, "has another length than 'begin'");
  for (std::size_t i = 0; i < values.size(); ++i) {
    json::error_code code;
    if (!values[i].is_null()) buckets[i].*member = values[i].to_number<T>(code);
    if (code) return fields.fail(key, "must hold numbers");
  }
}

}  // namespace

json::object to_json(const Lease& lease) {
  json::object object{{"run", lease.run}, {"journal", lease.journal}, {"owner", lease.owner}, {"epoch", lease.epoch}};
  if (lease.expires) object["expires_ns"] = nanos(*lease.expires);
  return object;
}

Result<Lease> lease_from_json(const json::value& value) {
  JsonFields fields(value, "lease");
  Lease lease{.run = fields.text("run"), .journal = fields.text("journal"), .owner = fields.text("owner")};
  lease.epoch = natural(fields, "epoch");
  if (fields.find("expires_ns")) lease.expires = time_at(fields.integer("expires_ns"));
  ASSAY_CHECK(fields.finish());
  return lease;
}

json::object to_json(const LeaseTerms& terms) {
  json::object object{{"owner", terms.owner}};
  if (terms.length) object["length_ns"] = terms.length->count();
  return object;
}

Result<LeaseTerms> lease_terms_from_json(const json::value& value) {
  JsonFields fields(value, "terms");
  LeaseTerms terms{.owner = fields.text_or("owner", ""), .length = {}};
  if (fields.find("length_ns")) terms.length = Nanos(static_cast<std::int64_t>(natural(fields, "length_ns")));
  ASSAY_CHECK(fields.finish());
  return terms;
}

json::object to_json(const JournalState& journal) {
  return {{"name", journal.name}, {"size", journal.size}, {"owner", spelling(kOwnerNames, journal.owner)}};
}

Result<JournalState> journal_state_from_json(const json::value& value) {
  JsonFields fields(value, "journal");
  JournalState journal{.name = fields.text("name"), .size = natural(fields, "size")};
  journal.owner = meaning(kOwnerNames, fields, "owner");
  ASSAY_CHECK(fields.finish());
  return journal;
}

json::object to_json(const RunRow& row) {
  json::object object{{"id", row.id},
                      {"name", row.name},
                      {"kind", row.kind},
                      {"state", name_of(row.state)},
                      {"verdict", name_of(row.verdict)}};
  object["tags"] = json::value_from(row.tags);
  object["study"] = row.study;
  object["variant"] = row.variant;
  object["repeat"] = row.repeat;
  object["ranks"] = row.ranks;
  object["nodes"] = row.nodes;
  object["host"] = row.host;
  object["created_ns"] = nanos(row.created);
  object["duration_ns"] = row.duration.count();
  auto& metrics = object["metrics"].emplace_object();
  for (const auto& [name, value] : row.metrics) metrics[name] = finite(value);
  return object;
}

Result<RunRow> run_row_from_json(const json::value& value) {
  JsonFields fields(value, "run");
  RunRow row{.id = fields.text("id"), .name = fields.text("name"), .kind = fields.text("kind")};
  const auto state = run_state_from(fields.text("state"));
  const auto verdict = verdict_from(fields.text("verdict"));
  if (!state) fields.fail("state", "is none that is known");
  if (!verdict) fields.fail("verdict", "is none that is known");
  row.state = state.value_or(RunState::queued);
  row.verdict = verdict.value_or(Verdict::none);
  row.tags = fields.texts_or_empty("tags");
  row.study = fields.text_or("study", "");
  row.variant = fields.text_or("variant", "");
  row.repeat = fields.small_integer_or("repeat", 0);
  row.ranks = fields.small_integer_or("ranks", 1);
  row.nodes = fields.small_integer_or("nodes", 1);
  row.host = fields.text_or("host", "");
  row.created = time_at(fields.integer("created_ns"));
  row.duration = Nanos(fields.integer_or("duration_ns", 0));
  for (const auto& metric : fields.object_or_empty("metrics")) {
    json::error_code code;
    const double number =
        metric.value().is_null() ? std::numeric_limits<double>::quiet_NaN() : metric.value().to_number<double>(code);
    if (code) fields.fail("metrics", "must hold numbers");
    row.metrics.emplace(metric.key(), number);
  }
  ASSAY_CHECK(fields.finish());
  return row;
}

json::object to_json(const RunPage& page) {
  json::object object = list_to_json("runs", page.rows);
  object["total"] = page.total;
  return object;
}

Result<RunPage> run_page_from_json(const json::value& value) {
  RunPage page;
  ASSAY_TRY(page.rows, list_from_json(value, "runs", run_row_from_json));
  JsonFields fields(value, "list");
  page.total = fields.integer("total");
  ASSAY_CHECK(fields.finish());
  return page;
}

json::object to_json(const RunQuery& query) {
  json::array conditions;
  for (const auto& condition : query.conditions) {
    conditions.push_back(json::object{{"field", condition.field},
                                      {"op", spelling(kOpNames, condition.op)},
                                      {"text", condition.text},
                                      {"number", finite(condition.number)}});
  }
  return {{"conditions", std::move(conditions)},
          {"sort", query.sort},
          {"descending", query.descending},
          {"limit", query.limit},
          {"offset", query.offset}};
}

Result<RunQuery> run_query_from_json(const json::value& value) {
  JsonFields fields(value, "query");
  RunQuery query;
  for (const auto& item : fields.array_or_empty("conditions")) {
    JsonFields one(item, "condition");
    Condition condition{.field = one.text("field")};
    condition.op = meaning(kOpNames, one, "op");
    condition.text = one.text_or("text", "");
    condition.number = one.number_or("number", 0);
    ASSAY_CHECK(one.finish());
    query.conditions.push_back(std::move(condition));
  }
  query.sort = fields.text_or("sort", query.sort);
  query.descending = fields.boolean_or("descending", query.descending);
  query.limit = fields.integer_or("limit", query.limit);
  query.offset = fields.integer_or("offset", 0);
  ASSAY_CHECK(fields.finish());
  return query;
}

json::object to_json(const RunChange& change) {
  return {{"sequence", change.sequence}, {"run", change.run}, {"removed", change.removed}};
}

Result<RunChange> run_change_from_json(const json::value& value) {
  JsonFields fields(value, "change");
  RunChange change{.sequence = natural(fields, "sequence"), .run = fields.text("run")};
  change.removed = fields.boolean_or("removed", false);
  ASSAY_CHECK(fields.finish());
  return change;
}

json::object to_json(const CurveQuestion& question) {
  json::object object{{"names", json::value_from(question.names)},
                      {"axis", question.axis == CurveQuestion::Axis::step ? "step" : "time"},
                      {"width", question.width}};
  if (question.from) object["from"] = *question.from;
  if (question.to) object["to"] = *question.to;
  return object;
}

Result<CurveQuestion> curve_question_from_json(const json::value& value) {
  JsonFields fields(value, "question");
  CurveQuestion question{.names = fields.texts_or_empty("names")};
  const auto axis = fields.text_or("axis", "step");
  if (axis != "step" && axis != "time") fields.fail("axis", "is not step or time");
  question.axis = axis == "time" ? CurveQuestion::Axis::time : CurveQuestion::Axis::step;
  if (fields.find("width")) question.width = natural(fields, "width");
  if (fields.find("from")) question.from = fields.integer("from");
  if (fields.find("to")) question.to = fields.integer("to");
  ASSAY_CHECK(fields.finish());
  return question;
}

json::object to_json(const RunCurve& curve) {
  json::object object{{"name", curve.key.name}, {"unit", curve.unit}, {"span", curve.span}};
  object["labels"] = json::value_from(curve.key.labels);
  // By columns: the names of the figures once, not once for every bucket.
  object["begin"] = column(curve.buckets, &CurveBucket::begin);
  object["points"] = column(curve.buckets, &CurveBucket::points);
  object["finite"] = column(curve.buckets, &CurveBucket::finite);
  object["min"] = column(curve.buckets, &CurveBucket::min);
  object["max"] = column(curve.buckets, &CurveBucket::max);
  object["sum"] = column(curve.buckets, &CurveBucket::sum);
  object["last"] = column(curve.buckets, &CurveBucket::last);
  return object;
}

Result<RunCurve> run_curve_from_json(const json::value& value) {
  JsonFields fields(value, "curve");
  RunCurve curve;
  curve.key = {.name = fields.text("name"), .labels = fields.text_map_or_empty("labels")};
  curve.unit = fields.text_or("unit", "");
  curve.span = fields.integer("span");
  curve.buckets.resize(fields.array_or_empty("begin").size());
  read_column(fields, "begin", curve.buckets, &CurveBucket::begin);
  read_column(fields, "points", curve.buckets, &CurveBucket::points);
  read_column(fields, "finite", curve.buckets, &CurveBucket::finite);
  read_column(fields, "min", curve.buckets, &CurveBucket::min);
  read_column(fields, "max", curve.buckets, &CurveBucket::max);
  read_column(fields, "sum", curve.buckets, &CurveBucket::sum);
  read_column(fields, "last", curve.buckets, &CurveBucket::last);
  ASSAY_CHECK(fields.finish());
  return curve;
}

json::object to_json(const Artifact& artifact) { return {{"name", artifact.name}, {"bytes", artifact.bytes}}; }

Result<Artifact> artifact_from_json(const json::value& value) {
  JsonFields fields(value, "artifact");
  Artifact artifact{.name = fields.text("name"), .bytes = fields.integer("bytes")};
  ASSAY_CHECK(fields.finish());
  return artifact;
}

json::object to_json(const ReindexReport& report) {
  json::array problems;
  for (const auto& problem : report.problems) {
    problems.push_back(json::object{
        {"about", problem.about}, {"kind", name_of(problem.error.kind)}, {"message", problem.error.text()}});
  }
  return {{"runs", report.runs},
          {"studies", report.studies},
          {"interrupted", report.interrupted},
          {"problems", std::move(problems)}};
}

Result<ReindexReport> reindex_report_from_json(const json::value& value) {
  JsonFields fields(value, "report");
  ReindexReport report{.runs = fields.small_integer("runs"),
                       .studies = fields.small_integer("studies"),
                       .interrupted = fields.small_integer("interrupted"),
                       .problems = {}};
  for (const auto& item : fields.array_or_empty("problems")) {
    JsonFields one(item, "problem");
    auto about = one.text("about");
    const auto kind = error_kind_from(one.text("kind")).value_or(ErrorKind::io);
    report.problems.push_back({std::move(about), {.kind = kind, .message = one.text("message")}});
    ASSAY_CHECK(one.finish());
  }
  ASSAY_CHECK(fields.finish());
  return report;
}

}  // namespace assay
