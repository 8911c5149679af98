#include "store/local/local_store.h"

#include <fmt/format.h>

#include <thread>

#include "model/study.h"
#include "store/local/index_rows.h"
#include "store/local/local_store_fixture.h"
#include "store/local/run_catalogue.h"
#include "store/read_journals.h"
#include "store/run_contract.h"
#include "store/sqlite/sqlite.h"

namespace assay {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class LocalPlace final : public RunStorePlace {
 public:
  explicit LocalPlace(Sharing sharing) : sharing_(sharing) {}
  std::unique_ptr<RunStore> open() override {
    auto store = open_local_store(folder_.path() / "data", {.sharing = sharing_, .clock = &clock_});
    EXPECT_TRUE(store.ok());
    return std::move(store).value();
  }
  void pass(Nanos time) override { clock_.advance(time); }

 private:
  TemporaryFolder folder_;
  Sharing sharing_;
  ManualClock clock_;
};

RunStoreFactory local_factory(std::string name, Sharing sharing) {
  return {std::move(name), [sharing] { return std::make_unique<LocalPlace>(sharing); }};
}

const auto kLocalStores =
    testing::Values(local_factory("Local", Sharing::local), local_factory("NetworkFileSystem", Sharing::network));
INSTANTIATE_TEST_SUITE_P(RunFolders, RunStoreContract, kLocalStores, run_store_factory_name);
INSTANTIATE_TEST_SUITE_P(RunFolders, OutlivedRunStoreContract, kLocalStores, run_store_factory_name);
INSTANTIATE_TEST_SUITE_P(RunFolders, LeaseContract, kLocalStores, run_store_factory_name);
INSTANTIATE_TEST_SUITE_P(RunFolders, ListedRunStoreContract, kLocalStores, run_store_factory_name);

TEST_F(LocalStoreTest, AFolderSaysWhatItIs) {
  const auto store = open();
  const auto id = ended_run(*store, "one");
  EXPECT_THAT(*read_file(data_ / "README.txt"), HasSubstr("assay"));
  const auto text = *read_file(run_file(id, "run.json"));
  EXPECT_THAT(text, HasSubstr("\n  \"name\": \"one\",\n"));
  EXPECT_THAT(*read_file(run_file(id, "owner.lock")), HasSubstr("pid " + std::to_string(::getpid())));
}

TEST_F(LocalStoreTest, ADamagedJournalKeepsTheRest) {
  const auto store = open();
  const auto id = ended_run(*store, "output text");
  auto bytes = *read_file(run_file(id, "journal"));
  bytes[20] = '!';
  put(run_file(id, "journal"), bytes);
  JournalRecording recording;
  ASSERT_OK(read_journal(*store, id, recording));
  EXPECT_THAT(recording.damage, SizeIs(1));
  EXPECT_THAT(recording.events, IsEmpty());
  EXPECT_EQ(recording.output[OutputStream::out], "output text");
}

TEST_F(LocalStoreTest, ATruncatedJournalOfAnEndedRunIsDamage) {
  const auto store = open();
  const auto id = ended_run(*store, "x");
  fs::resize_file(run_file(id, "journal"), 5);
  JournalRecording recording;
  ASSERT_OK(read_journal(*store, id, recording));
  EXPECT_THAT(recording.damage, testing::Not(IsEmpty()));
  fs::remove(run_file(id, "journal"));
  JournalRecording missing;
  ASSERT_OK(read_journal(*store, id, missing));
  EXPECT_THAT(missing.damage, ElementsAre(HasSubstr("missing")));
}

TEST_F(LocalStoreTest, ADeletedIndexIsMadeAgain) {
  {
    const auto store = open();
    ended_run(*store, "a");
    ended_run(*store, "b");
  }
  fs::remove(data_ / "index.db");
  EXPECT_THAT(names(*open()), ElementsAre("a", "b"));
}

TEST_F(LocalStoreTest, AnIndexDeletedUnderAnOpenStoreIsMadeAgain) {
  const auto store = open();
  ended_run(*store, "a");
  for (const char* file : {"index.db", "index.db-wal", "index.db-shm"}) fs::remove(data_ / file);
  ended_run(*store, "b");
  EXPECT_THAT(names(*store), ElementsAre("a", "b"));
  EXPECT_THAT(names(*open()), ElementsAre("a", "b"));
}

TEST_F(LocalStoreTest, AnIndexThatIsNoDatabaseIsMovedAsideAndMadeAgain) {
  {
    ended_run(*open(), "a");
  }
  put(data_ / "index.db", std::string(20000, '?'));
  testing::internal::CaptureStderr();
  const auto store = open();
  EXPECT_THAT(names(*store), ElementsAre("a"));
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("made again from the run folders"));
  EXPECT_THAT(top_level(), Contains(HasSubstr("index.db.damaged-")));
  ended_run(*store, "b");
  EXPECT_THAT(names(*open()), ElementsAre("a", "b"));
}

TEST_F(LocalStoreTest, AnIndexDamagedInTheMiddleIsMadeAgain) {
  {
    const auto store = open();
    for (int i = 0; i < 50; ++i) ended_run(*store, "run");
  }
  auto bytes = *read_file(data_ / "index.db");
  ASSERT_GT(bytes.size(), 8192U);
  for (std::size_t i = 4096; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 31);
  put(data_ / "index.db", bytes);
  testing::internal::CaptureStderr();
  EXPECT_THAT(names(*open()), SizeIs(50));
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("made again from the run folders"));
}

TEST_F(LocalStoreTest, AnIndexOfAnotherVersionIsMadeAgain) {
  {
    ended_run(*open(), "a");
  }
  {
    auto database = Database::open((data_ / "index.db").string());
    ASSERT_OK(database);
    ASSERT_OK(database->execute("PRAGMA user_version = 99; DROP TABLE runs"));
  }
  testing::internal::CaptureStderr();
  EXPECT_THAT(names(*open()), ElementsAre("a"));
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("version 99"));
}

TEST_F(LocalStoreTest, FoldersComeAndGoByHand) {
  const auto store = open();
  const auto kept = ended_run(*store, "kept");
  const auto gone = ended_run(*store, "gone");
  fs::rename(data_ / "runs" / gone, folder_.path() / "elsewhere");
  EXPECT_ERROR(ErrorKind::not_found, store->find_run(gone));
  EXPECT_THAT(names(*store), ElementsAre("kept"));

  fs::rename(folder_.path() / "elsewhere", data_ / "runs" / gone);
  EXPECT_EQ(store->find_run(gone)->name, "gone");
  const auto report = store->reindex();
  ASSERT_OK(report);
  EXPECT_EQ(report->runs, 2);
  EXPECT_THAT(names(*store), ElementsAre("gone", "kept"));

  fs::remove_all(data_ / "runs" / kept);
  ASSERT_OK(store->reindex());
  EXPECT_THAT(names(*store), ElementsAre("gone"));
}

TEST_F(LocalStoreTest, ADamagedRunIsNamedAndTheOthersAreNotAffected) {
  const auto store = open();
  const auto broken = ended_run(*store, "broken");
  const auto newer = ended_run(*store, "newer");
  const auto empty = ended_run(*store, "empty");
  const auto copy = data_ / "runs" / "copied";
  fs::copy(data_ / "runs" / broken, copy);
  ended_run(*store, "fine");
  const auto text = *read_file(run_file(broken, "run.json"));
  put(run_file(broken, "run.json"), text.substr(0, text.size() / 2));
  put(run_file(newer, "run.json"), R"({"schema": 99})");
  fs::remove(run_file(empty, "run.json"));

  const auto found = store->find_run(broken);
  EXPECT_ERROR(ErrorKind::bad_file, found);
  EXPECT_THAT(found.error().text(), HasSubstr(broken));
  EXPECT_THAT(found.error().text(), HasSubstr("its journal is still readable: 1 events"));
  EXPECT_THAT(store->find_run(newer).error().text(), HasSubstr("newer assay"));
  EXPECT_THAT(store->find_run(empty).error().text(), HasSubstr("missing"));
  EXPECT_THAT(store->find_run("copied").error().text(), HasSubstr("another run"));
  JournalRecording recording;
  ASSERT_OK(read_journal(*store, broken, recording));
  EXPECT_THAT(recording.events, SizeIs(1));

  const auto report = store->reindex();
  ASSERT_OK(report);
  EXPECT_EQ(report->runs, 1);
  EXPECT_THAT(report->problems, SizeIs(4));
  EXPECT_THAT(names(*store), ElementsAre("fine"));
  ASSERT_OK(store->remove_run(broken));
}

/// One who lists must not wait for a look at every run that somebody left open.
TEST_F(LocalStoreTest, AListLooksAtABoundedNumberOfRunsThatGoOn) {
  constexpr auto kLook = static_cast<std::int64_t>(RunCatalogue::kMostLookedAt);
  const auto store = open();
  for (std::int64_t i = 0; i < kLook + 3; ++i) {
    Run run;
    run.kind = "command";
    ASSERT_OK(begin_run(*store, run));  // nobody keeps what records it
  }
  const RunQuery interrupted{.conditions = {{"verdict", Condition::Op::equal, "interrupted"}}};
  EXPECT_EQ(store->list_runs(interrupted)->total, kLook);
  EXPECT_EQ(store->list_runs(interrupted)->total, kLook + 3) << "the next look goes on behind the one before";
}

/// Runs made a second after the other; the first of all is on `rare`, as is every 3000th.
class IndexRows : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK(database_);
    ASSERT_OK(database_->execute(kIndexTables));
    auto writer = RowWriter::prepare(*database_);
    ASSERT_OK(writer);
    for (int i = 0; i < kRuns; ++i) {
      RunRow row;
      row.id = std::to_string(i);
      row.name = "all alike";
      row.host = i % 3000 == 0 ? "rare" : "usual";
      row.created = WallTime(std::chrono::seconds(i));
      ASSERT_OK(writer->put(row));
    }
  }
  /// The ids of all pages, none of which did more than `work`.
  std::vector<std::string> ids_of_pages(RunQuery query, std::int64_t work) {
    std::vector<std::string> ids;
    pages_ = 0;
    do {
      const auto page = query_rows(*database_, query, work);
      if (!page.ok()) ADD_FAILURE() << page.error().text();
      if (!page.ok() || ++pages_ > kRuns) break;
      EXPECT_LE(std::ssize(page->rows), query.limit);
      for (const auto& row : page->rows) ids.push_back(row.id);
      EXPECT_TRUE(page->next.empty() || page->next != query.after) << "it does not go on";
      query.after = page->next;
    } while (!query.after.empty());
    return ids;
  }

  static constexpr int kRuns = 20'000;
  static constexpr std::int64_t kLittle = 90'000;  // a slice or two
  Result<Database> database_ = Database::open(":memory:");
  int pages_ = 0;
};

/// However many runs there are: a filter that fits none of them ends, and goes on where it ended.
TEST_F(IndexRows, APageThatWouldTakeTooMuchWorkEndsAndTheNextGoesOn) {
  const Condition rare{"host", Condition::Op::equal, "rare"};
  for (const bool descending : {true, false}) {
    const RunQuery query{.conditions = {rare}, .descending = descending, .limit = 10};
    auto expected = ids_of_pages(query, kMostWorkOfAPage);
    EXPECT_EQ(pages_, 1);
    ASSERT_THAT(expected, SizeIs(7));
    EXPECT_EQ(ids_of_pages(query, kLittle), expected);
    EXPECT_GT(pages_, 1);
    EXPECT_LT(pages_, 30);
    auto small = query;
    small.limit = 2;
    EXPECT_EQ(ids_of_pages(small, kLittle), expected) << "ends in the middle of a slice";
  }
  const Condition none{"host", Condition::Op::equal, "nowhere"};
  const auto first = query_rows(*database_, {.conditions = {none}, .limit = 10}, kLittle);
  ASSERT_OK(first);
  EXPECT_THAT(first->rows, SizeIs(0));
  EXPECT_NE(first->next, "");
  EXPECT_EQ(first->total, std::nullopt) << "counting them takes as long as looking at them";
  EXPECT_THAT(ids_of_pages({.conditions = {none}, .limit = 10}, kLittle), SizeIs(0));
  const Condition named{"name", Condition::Op::equal, "all alike"};
  EXPECT_THAT(ids_of_pages({.conditions = {named, rare}, .limit = 10}, kLittle), SizeIs(7)) << "another index";
  EXPECT_EQ(query_rows(*database_, {.conditions = {none}}, kLittle)->total, 0) << "all is all";
}

TEST_F(IndexRows, AFullPageNeedsNoCount) {
  const Condition usual{"host", Condition::Op::equal, "usual"};
  const auto page = query_rows(*database_, {.conditions = {usual}, .limit = 10}, kLittle);
  ASSERT_OK(page);
  EXPECT_THAT(page->rows, SizeIs(10));
  EXPECT_EQ(page->total, std::nullopt);
  EXPECT_EQ(query_rows(*database_, {.conditions = {usual}, .limit = 10})->total, kRuns - 7);
}

TEST_F(IndexRows, AListThatCannotEndInTheMiddleIsRefusedWithTheRemedy) {
  const Condition rare{"host", Condition::Op::equal, "rare"};
  const RunQuery by_duration{.conditions = {rare}, .sort = "duration", .limit = 10};
  const auto refused = query_rows(*database_, by_duration, kLittle);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, ErrorKind::usage) << refused.error().text();
  EXPECT_THAT(refused.error().hint, HasSubstr("created>"));
  auto bounded = by_duration;
  bounded.conditions.push_back({"created", Condition::Op::greater, {}, kRuns - 10});
  EXPECT_EQ(query_rows(*database_, bounded, kLittle)->total, 0);
}

TEST_F(LocalStoreTest, ManyListWhileRunsAreRecorded) {
  const auto store = open();
  ended_run(*store, "first");
  {
    std::vector<std::jthread> viewers;
    for (int i = 0; i < 4; ++i) {
      viewers.emplace_back([&](const std::stop_token& stop) {
        std::int64_t before = 1;
        while (!stop.stop_requested()) {
          const auto page = store->list_runs({.limit = 3});
          ASSERT_OK(page);
          EXPECT_GE(page->total.value_or(0), before) << "a run that was listed is gone";
          before = page->total.value_or(0);
        }
      });
    }
    for (int i = 0; i < 20; ++i) ended_run(*store, fmt::format("r{:02}", i));
  }
  EXPECT_THAT(names(*store), SizeIs(21));
  // Its file goes under readers that are idle: the next ones are on the new one.
  for (const char* suffix : {"", "-wal", "-shm"}) fs::remove(data_ / (std::string("index.db") + suffix));
  EXPECT_THAT(names(*store), SizeIs(21));
}

TEST_F(LocalStoreTest, ADamagedStudyIsNamed) {
  const auto store = open();
  Study good{.name = "good"};
  Study bad{.name = "bad"};
  ASSERT_OK(store->create_study(good));
  ASSERT_OK(store->create_study(bad));
  put(data_ / "studies" / (bad.id + ".json"), "{");
  EXPECT_ERROR(ErrorKind::bad_file, store->find_study(bad.id));
  testing::internal::CaptureStderr();
  EXPECT_THAT(store->list_studies({})->rows, SizeIs(1));
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr(bad.id));
  const auto report = store->reindex();
  ASSERT_OK(report);
  EXPECT_EQ(report->studies, 1);
  ASSERT_THAT(report->problems, SizeIs(1));
  EXPECT_EQ(report->problems[0].about, "study " + bad.id);
}

/// However many studies there are and however often somebody lists them.
TEST_F(LocalStoreTest, AListOfStudiesReadsWhatChangedAlone) {
  const auto store = open();
  const auto folder = data_ / "studies";
  const auto names_of_studies = [&] {
    std::vector<std::string> names;
    const auto listed = store->list_studies({});
    for (const auto& row : listed->rows) names.push_back(row.name);
    return names;
  };
  Study first{.name = "first", .created = WallTime(std::chrono::seconds(1))};
  Study second{.name = "second", .created = WallTime(std::chrono::seconds(2))};
  ASSERT_OK(store->create_study(first));
  EXPECT_THAT(names_of_studies(), ElementsAre("first"));
  ASSERT_OK(store->create_study(second));
  EXPECT_THAT(names_of_studies(), ElementsAre("second", "first")) << "a folder that has just changed is no sign";

  const auto long_ago = fs::file_time_type::clock::now() - std::chrono::hours(1);
  fs::last_write_time(folder, long_ago);
  EXPECT_THAT(names_of_studies(), SizeIs(2));
  std::ofstream(folder / (first.id + ".json")) << "{";
  EXPECT_THAT(names_of_studies(), SizeIs(2)) << "it was read although the folder is as it was";
  testing::internal::CaptureStderr();
  fs::last_write_time(folder, long_ago + std::chrono::minutes(1));
  EXPECT_THAT(names_of_studies(), ElementsAre("second"));
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr(first.id));
  ASSERT_OK(store->remove_study(second.id));
  EXPECT_THAT(names_of_studies(), SizeIs(0));
}

TEST_F(LocalStoreTest, WhatAListReadOfTheProgressOfAStudyIsNotReadAgain) {
  const auto store = open();
  Study study{.name = "long"};
  study.plan.resize(3);
  ASSERT_OK(store->create_study(study));
  const auto begun = [&] { return store->list_studies({})->rows.at(0).begun; };
  EXPECT_EQ(begun(), 0);
  ASSERT_OK(store->note_planned_run(study.id, 0, "a"));
  ASSERT_OK(store->note_planned_run(study.id, 0, "again"));
  EXPECT_EQ(begun(), 1);
  const auto progress = data_ / "studies" / (study.id + ".runs");
  {
    std::fstream read_already(progress, std::ios::in | std::ios::out);
    read_already << std::string(fs::file_size(progress) - 1, 'x');
  }
  std::ofstream(progress, std::ios::app) << R"({"entry": 1, )";
  EXPECT_EQ(begun(), 1) << "nobody has ended this line yet";
  std::ofstream(progress, std::ios::app) << R"("run": "b"})" << "\n";
  EXPECT_EQ(begun(), 2);
  ASSERT_OK(store->note_planned_run(study.id, 2, "c"));
  EXPECT_EQ(begun(), 3);
  put(progress, "{}\n");
  EXPECT_EQ(begun(), 0) << "it is another file";
}

TEST_F(LocalStoreTest, ReindexingClosesAbandonedRunsAndRemovesLeftovers) {
  const auto store = open();
  Run run;
  run.kind = "command";
  {
    auto writer = *begin_run(*store, run);
  }
  fs::create_directories(data_ / "trash-abc" / "artifacts");
  fs::create_directories(data_ / "runs" / ".new-abc");
  put(data_ / "runs" / ".new-abc" / "owner.lock", "pid 1 on gone\n");
  const auto report = store->reindex();
  ASSERT_OK(report);
  EXPECT_EQ(report->runs, 1);
  EXPECT_EQ(report->interrupted, 1);
  EXPECT_FALSE(fs::exists(data_ / "trash-abc"));
  EXPECT_FALSE(fs::exists(data_ / "runs" / ".new-abc"));
  EXPECT_EQ(store->reindex()->interrupted, 0);
}

TEST_F(LocalStoreTest, RemovingLeavesNothingBehind) {
  const auto store = open();
  const auto id = ended_run(*store, "x");
  ASSERT_OK(attach_text(*store, id, "a", "b"));
  ASSERT_OK(store->remove_run(id));
  EXPECT_TRUE(fs::is_empty(data_ / "runs"));
  EXPECT_THAT(top_level(), testing::Not(Contains(HasSubstr("trash"))));
}

}  // namespace
}  // namespace assay
