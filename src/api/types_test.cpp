// What is written by hand elsewhere (src/model, for what is kept for years) against what is said of it here: nothing
// that is not described, and nothing described that does not exist.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "api/account_types.h"
#include "api/cluster_types.h"
#include "api/error_types.h"
#include "api/look_types.h"
#include "api/offer_types.h"
#include "api/queue_types.h"
#include "api/run_types.h"
#include "api/schema_fixture.h"
#include "api/telemetry_types.h"

namespace assay {
namespace {

using testing::IsEmpty;

WallTime some_time() { return WallTime(std::chrono::seconds(1'800'000'000)); }

template <typename T>
std::vector<std::string> fields_missing_in(const json::object& full) {
  std::vector<std::string> missing;
  for (const auto& field : api_type<T>().info().fields) {
    if (!full.contains(field.name)) missing.push_back(field.name);
  }
  return missing;
}

/// A full value has every field that is described and no other; an empty one is described as well; both read back.
template <typename T>
void expect_described(const T& full, const T& empty = {}) {
  const std::string& name = api_type<T>().info().name;
  const auto written = write_api(full);
  EXPECT_THAT(schema_problems<T>(written), IsEmpty()) << name;
  EXPECT_THAT(fields_missing_in<T>(written), IsEmpty()) << name;
  EXPECT_THAT(schema_problems<T>(write_api(empty)), IsEmpty()) << name;
  const auto read = read_api<T>(written);
  ASSERT_TRUE(read.ok()) << name << ": " << read.error().text();
  EXPECT_EQ(json::serialize(write_api(*read)), json::serialize(written)) << name;
  EXPECT_TRUE(read_api<T>(write_api(empty)).ok()) << name;
}

Provenance full_provenance() {
  return {.assay_version = "1",
          .assay_commit = "c",
          .hostname = "h",
          .os = "o",
          .kernel = "k",
          .cpu_model = "m",
          .cpu_cores = 1,
          .machine_cores = 2,
          .memory_bytes = 3,
          .cpu_governor = "g",
          .gpus = {{.uuid = "GPU-1", .name = "H200", .memory_bytes = 4}},
          .gpu_driver = "d",
          .python_version = "p",
          .torch_version = "t",
          .engine_version = "e",
          .git_commit = "f",
          .git_dirty = true,
          .command = {"a"},
          .working_directory = "/",
          .environment = {{"A", "b"}},
          .job = {{"RANK", "0"}},
          .seeds = {{"run", UINT64_MAX}}};
}

Run full_run() {
  Run run{.id = "r", .name = "n", .kind = "train", .tags = {"t"}, .study = "s", .variant = "v", .repeat = 1};
  run.placement = {.node = "gpu01", .gpus = std::vector<std::string>{"GPU-1"}, .place = "ssh:gpu01"};
  run.placement.further = {{.node = "gpu02", .gpus = {"GPU-2"}}};
  run.placement.part = 1;
  run.state = RunState::ended;
  run.verdict = Verdict::failed;
  run.flags = {{.kind = "k", .about = "a", .message = "m"}};
  run.error = RunError{.kind = ErrorKind::oom, .message = "m", .hint = "h"};
  run.created = run.started = run.ended = some_time();
  run.duration = std::chrono::seconds(5);
  run.exit_code = 1;
  run.signal = 9;
  run.spec = {{"kind", "train"}};
  run.spec_hash = "x";
  run.provenance = full_provenance();
  run.metrics = {{"loss", 0.5}, {"perplexity", std::nan("")}};
  run.series = {{.name = "loss", .labels = {{"rank", "1"}}, .unit = "s", .points = 2, .non_finite = 1}};
  return run;
}

Study full_study() {
  Study study{.id = "s", .name = "n", .tags = {"t"}, .created = some_time(), .source = "x", .spec_hash = "h"};
  study.plan = {{.variant = "v", .node = "gpu01", .spec = {{"a", 1}}, .run = "r"}};
  study.flags = {{.kind = "k"}};
  return study;
}

AlertRecord full_alert() {
  AlertRecord record;
  record.alert = {.id = "a",
                  .rule = "overheating",
                  .severity = AlertSeverity::critical,
                  .node = "gpu01",
                  .about = "GPU-1",
                  .what = "It is hot.",
                  .remedy = "Cool it.",
                  .since = some_time(),
                  .last_value = 90,
                  .worst_value = 95,
                  .threshold = std::nan(""),
                  .values = {{"power_w", 700}},
                  .state = AlertState::resolved,
                  .resolved_at = some_time()};
  record.acknowledged_at = some_time();
  record.acknowledged_by = "ada";
  record.note = "on my way";
  record.silenced = true;
  record.told = true;
  return record;
}

TEST(ApiTypes, RunsAndStudiesAreWhatIsSaidOfThem) {
  expect_described(full_run());
  expect_described(full_provenance());
  expect_described(full_run().series[0]);
  expect_described(full_run().placement);
  expect_described(*full_run().error);
  expect_described(full_study());
  expect_described(full_study().plan[0]);
  expect_described(GpuInfo{.uuid = "GPU-1", .name = "H200", .memory_bytes = 4});
}

// They have rows of their own here, and functions in src/model: these may not say different things.
TEST(ApiTypes, WhatModelsWriteByHandIsWhatTheirRowsWrite) {
  const auto run = full_run();
  EXPECT_EQ(write_api(run.series[0]), to_json(run.series[0]));
  EXPECT_EQ(write_api(SeriesSummary{}), to_json(SeriesSummary{}));
  EXPECT_EQ(write_api(run.placement), to_json(run.placement));
  EXPECT_EQ(write_api(Placement{}), to_json(Placement{}));
  EXPECT_EQ(write_api(*run.error), to_json(*run.error));
  EXPECT_EQ(write_api(run.flags[0]), to_json(run.flags[0]));
  EXPECT_EQ(json::serialize(write_api(full_alert())), json::serialize(to_json(full_alert())));
  EXPECT_EQ(json::serialize(write_api(AlertRecord{})), json::serialize(to_json(AlertRecord{})));
  EXPECT_EQ(json::serialize(write_api(full_alert().alert)), json::serialize(json_of(full_alert().alert)));
}

TEST(ApiTypes, WhatTravelsAboutRuns) {
  const Lease lease{.run = "r", .journal = "journal", .owner = "gpu01", .epoch = 3, .expires = some_time()};
  const LeaseTerms terms{.owner = "pid 5", .length = Nanos(7)};
  expect_described(lease);
  expect_described(terms);
  expect_described(LeaseState{.lease = lease});
  expect_described(LeaseRenewal{.lease = lease, .length = Nanos(8)});
  expect_described(LeaseRelease{.lease = lease, .close = true});
  expect_described(JoiningRank{.name = "rank-3"});
  expect_described(NewRun{.run = full_run(), .terms = terms});
  expect_described(KeptRun{.run = full_run(), .lease = lease});
  expect_described(RunRewrite{.run = full_run(), .before = "h"});
  expect_described(OwnedRunRewrite{.lease = lease, .run = full_run(), .before = "h"});
  expect_described(RunPage{.rows = {row_of(full_run()), RunRow{}}, .total = 9, .next = "7b"});
  expect_described(RunQuery{.conditions = {{.field = "name", .op = Condition::Op::contains, .text = "a"},
                                           {.field = "ranks", .op = Condition::Op::less_equal, .number = 2}},
                            .sort = "ranks",
                            .descending = false,
                            .limit = 5,
                            .after = "7b",
                            .changed_after = 6});
  expect_described(RunChanges{.changes = {{.sequence = 1, .run = "r", .removed = true}}, .newest = 2});
  expect_described(
      CurveQuestion{.names = {"loss"}, .axis = CurveQuestion::Axis::time, .from = 1, .to = 2, .width = 10});
  RunCurve curve{.key = {.name = "loss", .labels = {{"rank", "1"}}}, .unit = "s", .span = 10};
  curve.buckets = {{.begin = 1, .points = 2, .finite = 1, .min = 3, .max = 4, .sum = 5, .last = 6},
                   {.begin = 11, .points = 1}};
  expect_described(RunCurves{.curves = {curve, RunCurve{}}});
  expect_described(RunJournals{.journals = {{.name = "journal", .size = 5, .owner = JournalOwner::live}}});
  expect_described(JournalSize{.size = 5});
  expect_described(RunArtifacts{.artifacts = {{.name = "a", .bytes = 5}}});
  ReindexReport report{.runs = 1, .studies = 2, .interrupted = 3, .problems = {}};
  report.problems.push_back({.about = "r", .error = {.kind = ErrorKind::bad_file, .message = "m"}});
  expect_described(report);
  expect_described(StudyPage{.rows = {row_of(full_study()), StudyRow{}}, .next = "7.a"});
  expect_described(RunOrder{.spec = "kind: train",
                            .file = "a.yaml",
                            .name = "n",
                            .tags = {"t"},
                            .set = {"a=1"},
                            .node = "gpu01",
                            .gpus = std::vector<std::string>{},
                            .each_node = true,
                            .priority = 1,
                            .within = "6h",
                            .hold = true,
                            .retries = 2,
                            .after = {"r"},
                            .key = "k"});
  expect_described(OrderedRun{.run = "r", .study = "s"});
}

TEST(ApiTypes, WhatTravelsOfTheQueue) {
  QueuedRun run{.run = "r", .name = "n", .kind = "train", .study = "s", .variant = "v", .by = "ada"};
  run.started = run.expected_end = run.expected_start = run.late_start = run.deadline = some_time();
  run.reason = "held";
  run.why = "is held";
  run.ahead = 1;
  run.expected_node = "gpu01";
  run.further = run.expected_further = {"gpu02"};
  expect_described(run);
  expect_described(QueueList{.runs = {run}, .total = 7, .next = "1.a"});
  expect_described(NewPriority{.priority = 1});
  PreviewedRun previewed{.variant = "v", .node = "gpu01", .length = {.seconds = 5, .factor = 2, .from_runs = 1}};
  previewed.why = "w";
  previewed.further = {"gpu02"};
  previewed.expected_start = previewed.late_start = some_time();
  expect_described(PricedRun{.run = previewed, .cost = 0.5});
  expect_described(OrderPreview{.name = "n",
                                .runs = {PricedRun{.run = previewed, .cost = {}}},
                                .expected_end = some_time(),
                                .cost = 0.5,
                                .currency = "USD"});
}

TEST(ApiTypes, WhatTravelsForWhoLooks) {
  expect_described(
      KnownMetrics{.metrics = {{.name = "loss", .unit = "s", .description = "d", .better = "lower", .counter = true}}});
  expect_described(SpecSchema{.schema = {{"type", "object"}}});
  expect_described(SpecDraft{.spec = "kind: null", .set = {"a=1"}});
  expect_described(
      SpecOpinion{.valid = true, .mistakes = {{.line = 1, .column = 2, .message = "m"}}, .runs = 3, .kind = "train"});
  expect_described(ReportAnswer{.document = {{"title", "t"}}});
  expect_described(
      RunLog{.lines = {{.time = some_time(), .error = true, .text = "t"}}, .next = "journal:5", .more = true});
}

TEST(ApiTypes, ColumnsOfACurveMustBeOfOneLength) {
  auto written = write_api(RunCurve{.key = {.name = "loss"}, .buckets = {{.begin = 1}}});
  written["min"] = json::array{};
  EXPECT_EQ(read_api<RunCurve>(written).error().message, "RunCurve: 'min' has another length than 'begin'");
  written["min"] = json::array{"low"};
  EXPECT_EQ(read_api<RunCurve>(written).error().message, "RunCurve: 'min' must hold numbers");
}

TEST(ApiTypes, WhatTravelsAboutTheCluster) {
  NodeAnswer node;
  node.record.devices = {{.id = "GPU-1", .facts = {{"index", "0"}}}};
  node.record.first_seen = node.record.last_seen = some_time();
  node.record.facts = {{"os", "Debian"}};
  node.record.maintenance = {{.from = some_time(), .until = some_time()}};
  node.processes = {{.gpu = "GPU-1", .pid = 5, .memory_bytes = 6}, {.gpu = "GPU-1", .pid = 7, .memory_bytes = {}}};
  node.values = NodeValues{.host = {{"host.load", 1}}, .gpus = {{"GPU-1", {{"gpu.util", std::nan("")}}}}};
  node.clock_skew_s = std::nan("");
  node.history = NodeHistory{.series = 1, .most_series = 2, .bytes = 3, .most_bytes = 4};
  expect_described(NodeList{.nodes = {node, NodeAnswer{}}, .next = "gpu01"});
  expect_described(node);
  expect_described(DrainRequest{.reason = "r", .in = "8h", .length = "2h"});
  TrendView trend{.verdict = "hotter", .why = "w", .weeks = {{.start = some_time(), .hours = 5}}};
  expect_described(NodeTrends{.node = "gpu01", .gpus = {{"GPU-1", trend}}});
  expect_described(TrendList{.nodes = {{.node = "gpu01", .gpus = {{"GPU-1", trend}}}}, .next = "gpu01"});
  expect_described(EventList{.events = {{.id = 1, .time = some_time(), .values = {{"xid", 79}}}}, .next = "1.2"});
  expect_described(CommandView{.id = "c", .created = some_time(), .output = "o", .exit_code = 3});
  expect_described(CommandRequest{.kind = "doctor", .arguments = {{"a", 1}}});
  expect_described(AlertList{.alerts = {full_alert()}, .next = "warning.5.a1"});
  expect_described(full_alert());
  expect_described(SilenceList{.silences = {{.id = "s", .until = some_time()}}});
  expect_described(
      SilenceRequest{.rule = "r", .node = "n", .about = "a", .everything = true, .length = "2h", .reason = "x"});
  expect_described(
      SeriesList{.series = {{.name = "gpu.util", .labels = {{"gpu", "GPU-1"}}, .unit = "ratio"}}, .next = "7"});
  LiveEvent live{.time_ms = 5, .nodes = {{.name = "gpu01", .gpus = 2}}, .series = {{.id = 1, .name = "gpu.util"}}};
  live.values = {{1, 5, 0.5}, {1, 6, std::nan("")}};
  live.alerts = {full_alert()};
  expect_described(live);
  expect_described(LeaderProblem{.about = "events", .text = "full", .since = some_time()});
  expect_described(LeaderStatus{.version = "1", .problems = {{.kind = ProblemKind::outlet, .text = "full"}}});
  expect_described(ErrorAnswer{.error = {.kind = ErrorKind::busy, .message = "m", .hint = "h"}});
}

TEST(ApiTypes, WhatTravelsAboutPeople) {
  const SharedView shows{.kind = "compare", .runs = {"r1", "r2"}, .study = "s"};
  const UserView user{
      .name = "ada", .full_name = "Ada", .role = "admin", .created = some_time(), .last_login = some_time()};
  const PersonalToken token{
      .id = "t", .user = "ada", .name = "ci", .scopes = {"read"}, .created = some_time(), .expires = {}};
  const ShareLink link{
      .id = "l", .user = "ada", .shows = shows, .note = "n", .created = some_time(), .expires = some_time()};
  expect_described(SignIn{.user = "ada", .password = "p", .once = "o"});
  expect_described(SessionInfo{.user = "ada", .scopes = {"read"}, .expires = some_time(), .shows = shows});
  expect_described(PasswordChange{.old = "o", .password = "p"});
  expect_described(UserList{.users = {user, UserView{}}});
  expect_described(NewUser{.name = "ada", .full_name = "Ada", .role = "user", .password = "p"});
  expect_described(UserChange{.full_name = "Ada", .role = "user", .disabled = true});
  expect_described(PasswordReset{.password = "p"});
  expect_described(Invitation{.user = user, .once = "o"});
  expect_described(PersonalTokenList{.tokens = {token}});
  expect_described(NewPersonalToken{.name = "ci", .scopes = {"read"}, .length = "30d"});
  expect_described(MadeToken{.token = token, .secret = "s"});
  expect_described(ShareLinkList{.links = {link}});
  expect_described(NewShareLink{.kind = "run", .runs = {"r"}, .study = "s", .note = "n", .length = "1d"});
  expect_described(MadeLink{.link = link, .secret = "s"});
  const PanelContent content{.name = "p",
                             .shared = true,
                             .metrics = {"loss"},
                             .runs = {"r"},
                             .filter = "tag=a",
                             .newest = 3,
                             .axis = "wall",
                             .smoothing = 0.5,
                             .logarithmic = true};
  expect_described(content);
  expect_described(
      PanelList{.panels = {{.id = "p", .user = "ada", .changed = some_time(), .content = content}, PanelRecord{}}});
  expect_described(AuditList{.entries = {{.id = 1, .time = some_time(), .who = "user ada", .status = 200}}, .next = 1});
  expect_described(CatalogList{.offers = {{.name = "gpt", .kind = "train", .models = {"gpt*"}}}});
  expect_described(CatalogRecord{
      .name = "n", .description = "d", .kind = "train", .models = {"m"}, .datasets = {"d"}, .commands = {"c"}});
  expect_described(
      QuotaRecord{.user = "ada", .runs_at_once = 1, .runs_per_order = 2, .gpu_hours_per_day = 0.5, .gpus_at_once = 4});
  expect_described(QuotaList{.quotas = {QuotaRecord{}}});
  expect_described(QuotaUse{.quota = {.user = "ada"}, .runs = 1, .gpu_hours = 0.5});
  expect_described(OwnerAnswer{.owner = "user ada"});
}

TEST(ApiTypes, OfPricesAndJoiningMachines) {
  const GpuPrice price{.gpu = "*H200*", .on_demand = 3.5, .spot = 1.2, .currency = "USD", .source = "a list"};
  const PowerPrice power{
      .site = "", .per_kwh = 0.3, .currency = "EUR", .grams_co2_per_kwh = 380.0, .source = "the grid"};
  expect_described(price);
  expect_described(power);
  expect_described(PriceList{.prices = {price},
                             .power = power,
                             .gpus = {{.name = "NVIDIA H200", .count = 8, .price = price}, {.name = "T4"}}});
  const JoinTokenView token{.id = "t1",
                            .name = "rack 3",
                            .created = some_time(),
                            .expires = some_time(),
                            .state = "good",
                            .nodes = "gpu*",
                            .uses = 8,
                            .approval = true,
                            .nodes_let_in = 2};
  expect_described(JoinTokenList{.tokens = {token},
                                 .keys = {{.node = "gpu01", .joined = some_time(), .by_token = "t1", .state = "waits"}},
                                 .next_token = "t1",
                                 .next_key = "gpu01"});
  expect_described(NewJoinToken{.name = "rack 3", .length = "1d", .nodes = "gpu*", .uses = 8, .approval = true});
  expect_described(MadeJoinToken{.token = token, .secret = "s"});
  expect_described(TagChange{.add = {"a"}, .remove = {"b"}});
  expect_described(RunTags{.tags = {"a"}});
}

}  // namespace
}  // namespace assay
