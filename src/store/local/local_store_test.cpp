#include "store/local/local_store.h"

#include <fmt/format.h>

#include <thread>

#include "model/study.h"
#include "store/local/index_rows.h"
#include "store/local/local_store_fixture.h"
#include "store/local/run_catalogue.h"
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

/// However many runs there are: a filter that fits none of them ends.
TEST(IndexRows, APageTakesABoundedAmountOfWork) {
  auto database = Database::open(":memory:");
  ASSERT_OK(database);
  ASSERT_OK(database->execute(kIndexTables));
  auto writer = RowWriter::prepare(*database);
  ASSERT_OK(writer);
  for (int i = 0; i < 2000; ++i) {
    RunRow row;
    row.id = std::to_string(i);
    row.created = WallTime(std::chrono::seconds(i));
    ASSERT_OK(writer->put(row));
  }
  constexpr std::int64_t kLittle = 5000;
  const Condition none{"host", Condition::Op::equal, "nowhere"};
  const auto refused = query_rows(*database, {.conditions = {none}, .limit = 10}, kLittle);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, ErrorKind::usage) << refused.error().text();
  EXPECT_THAT(refused.error().hint, HasSubstr("created>"));

  const Condition late{"created", Condition::Op::greater, {}, 1990};
  EXPECT_EQ(query_rows(*database, {.conditions = {none, late}, .limit = 10}, kLittle)->total, 0);
  EXPECT_EQ(query_rows(*database, {.conditions = {none}, .limit = 10})->total, 0);
  EXPECT_EQ(query_rows(*database, {.conditions = {none}}, kLittle)->total, 0) << "all is all";
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
          EXPECT_GE(page->total, before) << "a run that was listed is gone";
          before = page->total;
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
