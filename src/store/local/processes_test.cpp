// The store when processes die, share it, run out of disk or may not write.

#include <sys/resource.h>

#include <csignal>

#include "store/journal/journal_recording_fixture.h"
#include "store/local/local_store_fixture.h"
#include "store/read_journals.h"
#include "store/sqlite/sqlite.h"

namespace assay {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

TEST_F(LocalStoreTest, AKilledRecorderLeavesItsData) {
  const pid_t child = in_child([&] {
    const auto store = open();
    Run run;
    run.id = "victim";
    run.kind = "train";
    run.started = SystemClock().wall();
    auto writer = begin_run(*store, run);
    const auto handle = (*writer)->open_series({"loss", {}}, "");
    for (int i = 0; i < 3000; ++i) {
      const SeriesPoint point{i, i, 1.0 / (1 + i)};
      if (!(*writer)->append_points(handle, {&point, 1}).ok()) return 1;
    }
    if (!(*writer)->flush().ok()) return 1;
    // Appended but not flushed: may be lost.
    const SeriesPoint lost{3000, 3000, 0};
    if (!(*writer)->append_points(handle, {&lost, 1}).ok()) return 1;
    ::raise(SIGKILL);
    return 2;
  });
  ASSERT_EQ(exit_code_of(child), -SIGKILL);

  const auto store = open();
  EXPECT_EQ(store->list_runs({})->rows.at(0).verdict, Verdict::interrupted);
  const auto run = store->find_run("victim");
  ASSERT_OK(run);
  EXPECT_EQ(run->state, RunState::ended);
  EXPECT_EQ(run->verdict, Verdict::interrupted);
  EXPECT_THAT(run->error->message, HasSubstr("pid " + std::to_string(child)));
  ASSERT_THAT(run->series, SizeIs(1));
  EXPECT_EQ(run->series[0].points, 3000);
  EXPECT_EQ(run->metrics.at("loss"), 1.0 / 3000);
  EXPECT_GE(run->duration, Nanos(0));
  JournalRecording recording;
  ASSERT_OK(read_journal(*store, "victim", recording));
  EXPECT_EQ(recording.values({"loss", {}}).size(), 3000U);
  EXPECT_THAT(recording.damage, IsEmpty());
}

TEST_F(LocalStoreTest, AServiceFindsWhatAKilledOneLeft) {
  const auto gone = ended_run(*open(), "gone");
  const auto unlisted = ended_run(*open(), "unlisted");
  // Killed before it had listed the one, and while it removed the other.
  ASSERT_TRUE(Database::open((data_ / "index.db").string())->execute("DELETE FROM runs").ok());
  fs::rename(data_ / "runs" / gone, data_ / ("trash-" + gone));
  EXPECT_THAT(names(*open()), IsEmpty());

  const auto store = open_local_store(data_, {.tidy = true});
  ASSERT_OK(store);
  EXPECT_THAT(names(**store), ElementsAre("unlisted"));
  EXPECT_THAT(top_level(), testing::Not(Contains(HasSubstr("trash"))));
}

TEST_F(LocalStoreTest, ARunThatHasEndedIsNobodysWhenItsLeaseCouldNotBeRemoved) {
  const auto store = open();
  Run run;
  run.id = "victim";
  run.kind = "train";
  ASSERT_OK(store->add_run(run));
  const auto lease = store->take_run("victim", {.owner = "gpu03", .length = std::chrono::minutes(1)});
  ASSERT_OK(lease);
  const auto file = *read_file(run_file("victim", "lease.json"));
  ASSERT_OK(store->change_owned(*lease, [](Run& ended) -> Result<void> {
    ended.state = RunState::ended;
    return {};
  }));
  put(run_file("victim", "lease.json"), file);
  EXPECT_FALSE(store->find_lease("victim")->has_value());
}

TEST_F(LocalStoreTest, TwoProcessesRecordSideBySide) {
  constexpr int kRuns = 10;
  std::vector<pid_t> children;
  for (int i = 0; i < 3; ++i) {
    children.push_back(in_child([&] {
      const auto store = open();
      for (int n = 0; n < kRuns; ++n) ended_run(*store, "child");
      return HasFailure() ? 1 : 0;
    }));
  }
  for (const auto child : children) EXPECT_EQ(exit_code_of(child), 0);
  EXPECT_THAT(names(*open()), SizeIs(3 * kRuns));
}

TEST_F(LocalStoreTest, AReaderFollowsAnotherProcess) {
  int gate[2];
  ASSERT_EQ(::pipe(gate), 0);
  open();
  const pid_t child = in_child([&] {
    const auto store = open();
    Run run;
    run.id = "followed";
    run.kind = "train";
    auto writer = begin_run(*store, run);
    for (int i = 0; i < 5000; ++i) {
      if (!(*writer)->append_output(OutputStream::out, run.created, std::to_string(i) + "\n").ok()) return 1;
      if (i % 7 == 0 && !(*writer)->flush().ok()) return 1;
      if (i == 0) [[maybe_unused]]
        const auto told = ::write(gate[1], "x", 1);
    }
    return (*writer)->finish(run).ok() ? 0 : 1;
  });
  char byte = 0;
  ASSERT_EQ(::read(gate[0], &byte, 1), 1);
  const auto store = open();
  JournalRecording recording;
  JournalPosition position;
  for (bool ended = false; !ended;) {
    ended = store->find_run("followed")->state == RunState::ended;
    auto next = read_journal(*store, "followed", recording, position);
    ASSERT_OK(next);
    position = *next;
  }
  EXPECT_EQ(exit_code_of(child), 0);
  std::string expected;
  for (int i = 0; i < 5000; ++i) expected += std::to_string(i) + "\n";
  EXPECT_EQ(recording.output[OutputStream::out], expected);
  EXPECT_THAT(recording.damage, IsEmpty());
  ::close(gate[0]);
  ::close(gate[1]);
}

/// Runs `work` where no file can grow beyond `bytes`: what a full disk looks like.
template <typename Work>
int with_full_disk(rlim_t bytes, Work work) {
  return exit_code_of(in_child([&] {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{bytes, bytes};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    return work();
  }));
}

TEST_F(LocalStoreTest, AFullDiskStopsTheJournalButNotTheVerdict) {
  {
    open();
  }
  EXPECT_EQ(with_full_disk(200'000,
                           [&] {
                             const auto store = open();
                             Run run;
                             run.id = "full";
                             run.kind = "command";
                             run.started = SystemClock().wall();
                             auto writer = begin_run(*store, run);
                             if (!writer.ok()) return 1;
                             const std::string kilobyte(1000, 'x');
                             Result<void> appended;
                             int count = 0;
                             for (; appended.ok() && count < 1000; ++count) {
                               appended = (*writer)->append_output(OutputStream::out, run.created, kilobyte);
                             }
                             if (appended.ok()) return 2;
                             run.verdict = Verdict::invalid;
                             return (*writer)->finish(run).ok() ? 3 : 0;
                           }),
            0);
  const auto store = open();
  const auto run = store->find_run("full");
  ASSERT_OK(run);
  EXPECT_EQ(run->verdict, Verdict::invalid);
  JournalRecording recording;
  ASSERT_OK(read_journal(*store, "full", recording));
  EXPECT_GT(recording.output[OutputStream::out].size(), 150'000U);
  EXPECT_EQ(recording.output[OutputStream::out].size() % 1000, 0U);
  EXPECT_THAT(recording.damage, ElementsAre(HasSubstr("without its end mark")));
}

TEST_F(LocalStoreTest, AnIndexThatCannotGrowCostsNoRun) {
  {
    const auto store = open();
    for (int i = 0; i < 30; ++i) ended_run(*store, "before");
  }
  // Room for a run's files, but not for the index.
  EXPECT_EQ(with_full_disk(8000,
                           [&] {
                             testing::internal::CaptureStderr();
                             const auto store = open();
                             ended_run(*store, "recorded");
                             const auto warning = testing::internal::GetCapturedStderr();
                             if (warning.find("index") == std::string::npos) return 1;
                             return HasFailure() ? 2 : 0;
                           }),
            0);
  const auto store = open();
  ASSERT_OK(store->reindex());
  EXPECT_THAT(names(*store), SizeIs(31));
  EXPECT_THAT(names(*store), Contains("recorded"));
}

TEST_F(LocalStoreTest, AReadOnlyFolderCanBeRead) {
  std::string id;
  std::string abandoned;
  {
    const auto store = open();
    id = ended_run(*store, "readable");
    ASSERT_OK(attach_text(*store, id, "a.txt", "content"));
    Run run;
    run.name = "was running";
    run.kind = "command";
    {
      auto writer = *begin_run(*store, run);
    }
    abandoned = run.id;
  }
  // As another user, since root may write anywhere.
  const auto set_mode = [&](unsigned mode) {
    fs::permissions(data_, fs::perms(mode));
    for (const auto& entry : fs::recursive_directory_iterator(data_)) fs::permissions(entry.path(), fs::perms(mode));
  };
  set_mode(0555);
  fs::permissions(folder_.path(), fs::perms(0755));
  const int code = exit_code_of(in_child([&] {
    if (::geteuid() == 0 && ::setuid(65534) != 0) return 10;
    auto opened = open_local_store(data_);
    if (!opened.ok()) {
      ADD_FAILURE() << opened.error().text();
      return 1;
    }
    auto& store = **opened;
    if (names(store) != std::vector<std::string>{"readable", "was running"}) return 2;
    if (!store.find_run(id).ok()) return 3;
    JournalRecording recording;
    if (!read_journal(store, id, recording).ok() || recording.events.size() != 1) return 4;
    if (read_artifact(store, id, "a.txt").value_or("") != "content") return 5;
    const auto closed = store.find_run(abandoned);
    if (!closed.ok() || closed->verdict != Verdict::interrupted) return 6;
    const auto listed = store.list_runs({.conditions = {{"verdict", Condition::Op::equal, "interrupted"}}});
    if (!listed.ok() || listed->total != 1) return 7;
    Run run;
    run.kind = "command";
    const auto refused = store.create_run(run, {});
    if (refused.ok() || refused.error().kind != ErrorKind::denied) return 8;
    return 0;
  }));
  set_mode(0755);
  EXPECT_EQ(code, 0);
}

}  // namespace
}  // namespace assay
