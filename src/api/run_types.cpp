#include "api/run_types.h"

#include "api/error_types.h"

namespace assay {
namespace {

template <typename T>
json::array column(const std::vector<CurveBucket>& buckets, T CurveBucket::* member) {
  json::array values;
  values.reserve(buckets.size());
  for (const auto& bucket : buckets) values.push_back(ApiCodec<T>::write(bucket.*member));
  return values;
}

template <typename T>
void read_column(JsonFields& fields, std::string_view key, std::vector<CurveBucket>& buckets, T CurveBucket::* member) {
  const auto& values = fields.array_or_empty(key);
  if (values.size() != buckets.size()) return fields.fail(key, "has another length than 'begin'");
  for (std::size_t i = 0; i < values.size(); ++i) {
    // Without finite points the figures mean nothing, and are null.
    if (values[i].is_null()) continue;
    if (!ApiCodec<T>::read(values[i], buckets[i].*member).empty()) return fields.fail(key, "must hold numbers");
  }
}

/// A list of figures for each bucket, rather than a list of buckets: their names once, not once for every bucket.
template <typename Visit>
void for_each_column(Visit visit) {
  visit("begin", &CurveBucket::begin);
  visit("points", &CurveBucket::points);
  visit("finite", &CurveBucket::finite);
  visit("min", &CurveBucket::min);
  visit("max", &CurveBucket::max);
  visit("sum", &CurveBucket::sum);
  visit("last", &CurveBucket::last);
}

json::object curve_to_json(const RunCurve& curve) {
  json::object object{{"name", curve.key.name}, {"unit", curve.unit}, {"span", curve.span}};
  object["labels"] = json::value_from(curve.key.labels);
  for_each_column([&](std::string_view name, auto member) { object[name] = column(curve.buckets, member); });
  return object;
}

Result<RunCurve> curve_from_json(const json::value& value) {
  JsonFields fields(value, "RunCurve");
  RunCurve curve;
  curve.key = {.name = fields.text("name"), .labels = fields.text_map_or_empty("labels")};
  curve.unit = fields.text_or("unit", "");
  curve.span = fields.integer("span");
  curve.buckets.resize(fields.array_or_empty("begin").size());
  for_each_column([&](std::string_view name, auto member) { read_column(fields, name, curve.buckets, member); });
  ASSAY_CHECK(fields.finish());
  return curve;
}

json::object problem_to_json(const StoreProblem& problem) {
  return {{"about", problem.about}, {"kind", name_of(problem.error.kind)}, {"message", problem.error.text()}};
}

Result<StoreProblem> problem_from_json(const json::value& value) {
  JsonFields fields(value, "StoreProblem");
  StoreProblem problem{.about = fields.text("about"), .error = {}};
  problem.error.kind = error_kind_from(fields.text("kind")).value_or(ErrorKind::io);
  problem.error.message = fields.text("message");
  ASSAY_CHECK(fields.finish());
  return problem;
}

}  // namespace

template <>
const ApiEnum<JournalOwner>& api_enum() {
  static const ApiEnum<JournalOwner> words("JournalOwner", "Whether more may come in a journal.",
                                           {{JournalOwner::live, "live"},
                                            {JournalOwner::awaited, "awaited"},
                                            {JournalOwner::gone, "gone"},
                                            {JournalOwner::finished, "finished"}});
  return words;
}

template <>
const ApiEnum<Condition::Op>& api_enum() {
  using Op = Condition::Op;
  static const ApiEnum<Op> words("ConditionOp", "How a field is compared; ~ contains, ^= starts with.",
                                 {{Op::equal, "="},
                                  {Op::not_equal, "!="},
                                  {Op::less, "<"},
                                  {Op::less_equal, "<="},
                                  {Op::greater, ">"},
                                  {Op::greater_equal, ">="},
                                  {Op::contains, "~"},
                                  {Op::starts_with, "^="}});
  return words;
}

template <>
const ApiEnum<CurveQuestion::Axis>& api_enum() {
  using Axis = CurveQuestion::Axis;
  static const ApiEnum<Axis> words("CurveAxis", "What a chart's horizontal axis is.",
                                   {{Axis::step, "step"}, {Axis::time, "time"}});
  return words;
}

template <>
const ApiType<Lease>& api_type() {
  static const auto type =
      ApiType<Lease>("Lease", "The right to record a run and to change its state.")
          .field("run", &Lease::run, "The id of the run")
          .field("journal", &Lease::journal, "The journal that it may append to")
          .field("owner", &Lease::owner, "Whose it is")
          .field("epoch", &Lease::epoch, "Higher for whoever took the run later: an earlier owner is refused")
          .optional<AsNanos>("expires_ns", &Lease::expires,
                             "Until when it is good; without: as long as its holder lives");
  return type;
}

template <>
const ApiType<LeaseTerms>& api_type() {
  static const auto type =
      ApiType<LeaseTerms>("LeaseTerms", "For whom a lease is, and for how long.")
          .optional("owner", &LeaseTerms::owner, "A name for the caller's process")
          .optional<AsNanos>("length_ns", &LeaseTerms::length, "How long, in nanoseconds; at most an hour");
  return type;
}

template <>
const ApiType<LeaseState>& api_type() {
  static const auto type = ApiType<LeaseState>("LeaseState", "Whose a run is.")
                               .field("lease", &LeaseState::lease, "The last lease, good or not; null: nobody's");
  return type;
}

template <>
const ApiType<LeaseRenewal>& api_type() {
  static const auto type =
      ApiType<LeaseRenewal>("LeaseRenewal", "A lease that is to be good for longer.")
          .field("lease", &LeaseRenewal::lease, "As it was given")
          .field<AsNanos>("length_ns", &LeaseRenewal::length, "How long from now on, in nanoseconds");
  return type;
}

template <>
const ApiType<LeaseRelease>& api_type() {
  static const auto type =
      ApiType<LeaseRelease>("LeaseRelease", "A lease that is given up.")
          .field("lease", &LeaseRelease::lease, "As it was given")
          .optional("close", &LeaseRelease::close, "true: nobody goes on, so the run is interrupted and has ended");
  return type;
}

template <>
const ApiType<JoiningRank>& api_type() {
  static const auto type = ApiType<JoiningRank>("JoiningRank", "A further process of a job.")
                               .field("name", &JoiningRank::name, "What its journal is called: rank-3");
  return type;
}

template <>
const ApiType<NewRun>& api_type() {
  static const auto type = ApiType<NewRun>("NewRun", "A run that its caller records itself.")
                               .field("run", &NewRun::run, "The run")
                               .optional("terms", &NewRun::terms, "Of its lease; without: it waits in line");
  return type;
}

template <>
const ApiType<KeptRun>& api_type() {
  static const auto type = ApiType<KeptRun>("KeptRun", "A run that is kept from now on.")
                               .field("run", &KeptRun::run, "As it is kept, with its id")
                               .optional("lease", &KeptRun::lease, "The caller's, where it was wanted");
  return type;
}

template <>
const ApiType<RunRewrite>& api_type() {
  static const auto type = ApiType<RunRewrite>("RunRewrite", "A run as it should be.")
                               .field("run", &RunRewrite::run, "The run")
                               .field("before", &RunRewrite::before,
                                      "The hash of the run that was changed: nothing is done if it is another");
  return type;
}

template <>
const ApiType<TagChange>& api_type() {
  static const auto type = ApiType<TagChange>("TagChange", "Tags to be added and removed.")
                               .optional("add", &TagChange::add, "`key=value` or words; what is there already stays")
                               .optional("remove", &TagChange::remove, "First; what is not there is no error");
  return type;
}

template <>
const ApiType<RunTags>& api_type() {
  static const auto type =
      ApiType<RunTags>("RunTags", "The tags of a run.").field("tags", &RunTags::tags, "All that it has now");
  return type;
}

template <>
const ApiType<OwnedRunRewrite>& api_type() {
  static const auto type = ApiType<OwnedRunRewrite>("OwnedRunRewrite", "A run as its owner wants it.")
                               .field("lease", &OwnedRunRewrite::lease, "As it was given")
                               .field("run", &OwnedRunRewrite::run, "The run")
                               .field("before", &OwnedRunRewrite::before,
                                      "The hash of the run that was changed: nothing is done if it is another");
  return type;
}

template <>
const ApiType<RunRow>& api_type() {
  static const auto type = ApiType<RunRow>("RunRow", "What a list shows of a run.")
                               .field("id", &RunRow::id, "What it is known by")
                               .field("name", &RunRow::name, "What its user calls it")
                               .field("kind", &RunRow::kind, "Of its specification: train, command, …")
                               .field("state", &RunRow::state, "How far it is")
                               .field("verdict", &RunRow::verdict, "What its figures are worth")
                               .added("tags", &RunRow::tags, "key=value or bare words")
                               .added("study", &RunRow::study, "The id of its study; may be empty")
                               .added("variant", &RunRow::variant, "Which configuration of the study; may be empty")
                               .added("repeat", &RunRow::repeat, "Which repeat of that, from 0 on")
                               .added("ranks", &RunRow::ranks, "How many processes compute together")
                               .added("nodes", &RunRow::nodes, "On how many machines")
                               .added("host", &RunRow::host, "What its machine calls itself; may be empty")
                               .added("on", &RunRow::on, "Nodes of the cluster, in the order of its ranks")
                               .field<AsNanos>("created_ns", &RunRow::created, "When it was asked for")
                               .added<AsNanos>("started_ns", &RunRow::started, "When its workload began; 0: it has not")
                               .added<AsNanos>("duration_ns", &RunRow::duration, "How long its workload took")
                               .added("metrics", &RunRow::metrics, "Final values by name");
  return type;
}

template <>
const ApiType<RunPage>& api_type() {
  static const auto type =
      ApiType<RunPage>("RunPage", "Some of the runs that fit.")
          .field("runs", &RunPage::rows, "In the order asked for")
          .field("total", &RunPage::total, "How many fit on all pages together; null: too many to count")
          .field("next", &RunPage::next, "For `after`: there may be more; empty: that is all");
  return type;
}

template <>
const ApiType<Condition>& api_type() {
  static const auto type =
      ApiType<Condition>("Condition", "One condition of a filter.")
          .field("field", &Condition::field, "A field of a run, or metrics.X")
          .field("op", &Condition::op, "How it is compared")
          .optional("text", &Condition::text, "With what, for fields of text")
          .optional("number", &Condition::number, "With what, for numbers: seconds, Unix seconds, plain numbers");
  return type;
}

template <>
const ApiType<RunQuery>& api_type() {
  static const auto type = ApiType<RunQuery>("RunQuery", "Which runs, and in which order.")
                               .optional("conditions", &RunQuery::conditions, "All must hold")
                               .optional("sort", &RunQuery::sort, "A field, or metrics.X; without: created")
                               .optional("descending", &RunQuery::descending, "The largest first, unless this is false")
                               .optional("limit", &RunQuery::limit, "At most so many, and no more than 10,000")
                               .optional("after", &RunQuery::after, "The 'next' of the page before")
                               .optional("changed_after", &RunQuery::changed_after,
                                         "Only runs that were added or changed after the change of this number");
  return type;
}

template <>
const ApiType<RunChange>& api_type() {
  static const auto type = ApiType<RunChange>("RunChange", "A run that was added, changed or removed.")
                               .field("sequence", &RunChange::sequence, "Its place among all changes")
                               .field("run", &RunChange::run, "The id of the run")
                               .added("removed", &RunChange::removed, "Whether it is gone");
  return type;
}

template <>
const ApiType<RunChanges>& api_type() {
  static const auto type = ApiType<RunChanges>("RunChanges", "What changed, oldest first.")
                               .field("changes", &RunChanges::changes, "Each run once, at its newest change")
                               .field("newest", &RunChanges::newest, "The number of the newest change of all");
  return type;
}

template <>
const ApiType<CurveQuestion>& api_type() {
  static const auto type = ApiType<CurveQuestion>("CurveQuestion", "What a chart wants to know of a run's series.")
                               .optional("names", &CurveQuestion::names, "Of series; without: all")
                               .optional("axis", &CurveQuestion::axis, "By step, or by time; without: by step")
                               .optional("from", &CurveQuestion::from, "A step, or nanoseconds since the Unix epoch")
                               .optional("to", &CurveQuestion::to, "Up to here, without it")
                               .optional("width", &CurveQuestion::width, "At most so many buckets of each series");
  return type;
}

template <>
const ApiType<RunCurve>& api_type() {
  static const auto type =
      ApiType<RunCurve>("RunCurve", "A series in buckets; each list has one entry for each bucket that has points.")
          .row<std::string>("name", "Of the series")
          .row<std::string>("unit", "Of its values")
          .row<std::int64_t>("span", "How wide a bucket is: steps or nanoseconds")
          .row<std::map<std::string, std::string>>("labels", "What tells it from others of the same name")
          .row<std::vector<std::int64_t>>("begin", "Where each bucket starts")
          .row<std::vector<std::int64_t>>("points", "How many points it has")
          .row<std::vector<std::int64_t>>("finite", "How many of those are finite")
          .row<std::vector<double>>("min", "The smallest finite value")
          .row<std::vector<double>>("max", "The largest finite value")
          .row<std::vector<double>>("sum", "Of the finite values")
          .row<std::vector<double>>("last", "The last finite value")
          .by_hand(curve_to_json, curve_from_json);
  return type;
}

template <>
const ApiType<RunCurves>& api_type() {
  static const auto type = ApiType<RunCurves>("RunCurves", "Series of a run at a width.")
                               .field("curves", &RunCurves::curves, "One for each series");
  return type;
}

template <>
const ApiType<JournalState>& api_type() {
  static const auto type = ApiType<JournalState>("JournalState", "What one process of a run has recorded.")
                               .field("name", &JournalState::name, "journal: its owner's; rank-3: another's")
                               .field("size", &JournalState::size, "In bytes")
                               .field("owner", &JournalState::owner, "Whether more may come");
  return type;
}

template <>
const ApiType<RunJournals>& api_type() {
  static const auto type = ApiType<RunJournals>("RunJournals", "What a run's processes have recorded.")
                               .field("journals", &RunJournals::journals, "The owner's first");
  return type;
}

template <>
const ApiType<JournalSize>& api_type() {
  static const auto type =
      ApiType<JournalSize>("JournalSize", "How long a journal is now.").field("size", &JournalSize::size, "In bytes");
  return type;
}

template <>
const ApiType<Artifact>& api_type() {
  static const auto type = ApiType<Artifact>("Artifact", "A file that belongs to a run.")
                               .field("name", &Artifact::name, "What it is called")
                               .field("bytes", &Artifact::bytes, "How large it is");
  return type;
}

template <>
const ApiType<RunArtifacts>& api_type() {
  static const auto type = ApiType<RunArtifacts>("RunArtifacts", "Files that belong to a run.")
                               .field("artifacts", &RunArtifacts::artifacts, "By name");
  return type;
}

template <>
const ApiType<StoreProblem>& api_type() {
  static const auto type = ApiType<StoreProblem>("StoreProblem", "Something that could not be read.")
                               .row<std::string>("about", "A run, a study or a folder")
                               .row<ErrorKind>("kind", "Of what is wrong")
                               .row<std::string>("message", "What is wrong")
                               .by_hand(problem_to_json, problem_from_json);
  return type;
}

template <>
const ApiType<ReindexReport>& api_type() {
  static const auto type =
      ApiType<ReindexReport>("ReindexReport", "What the list of runs was made from.")
          .field("runs", &ReindexReport::runs, "How many runs")
          .field("studies", &ReindexReport::studies, "How many studies")
          .field("interrupted", &ReindexReport::interrupted, "Runs among them that nobody owned, closed now")
          .added("problems", &ReindexReport::problems, "What could not be read");
  return type;
}

}  // namespace assay
