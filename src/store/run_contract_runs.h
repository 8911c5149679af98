#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "store/run_contract_fixture.h"

namespace assay {

TEST_P(RunStoreContract, ANewRunIsRunningAndHasAnId) {
  Run run = a_run();
  const auto writer = writer_of(run);
  EXPECT_FALSE(run.id.empty());
  EXPECT_EQ(writer->run_id(), run.id);
  const auto found = store_->find_run(run.id);
  ASSERT_OK(found);
  EXPECT_EQ(found->state, RunState::running);
  EXPECT_EQ(found->name, "mnist");
  EXPECT_EQ(found->tags, run.tags);
  EXPECT_EQ(found->created, at(0));
  EXPECT_EQ(found->spec, run.spec);
  EXPECT_EQ(found->provenance, run.provenance);
}

TEST_P(RunStoreContract, AnIdIsGivenOnce) {
  Run run = a_run();
  run.id = "mine";
  const auto writer = writer_of(run);
  Run same = a_run("other");
  same.id = "mine";
  EXPECT_ERROR(ErrorKind::busy, store_->create_run(same, {}));
  EXPECT_ERROR(ErrorKind::busy, store_->add_run(same));
  EXPECT_EQ(store_->find_run("mine")->name, "mnist");
}

TEST_P(RunStoreContract, TheJournalGivesBackWhatWasAppended) {
  Run run = a_run();
  const auto writer = writer_of(run);
  const SeriesKey loss{"loss", {}};
  const SeriesKey power{"gpu.power_w", {{"gpu", "GPU-1"}}};
  const auto loss_handle = writer->open_series(loss, "");
  EXPECT_EQ(writer->open_series(loss, ""), loss_handle);
  const auto power_handle = writer->open_series(power, "W");
  EXPECT_NE(power_handle, loss_handle);
  ASSERT_OK(writer->append_event(at(1), R"({"type":"hello"})"));
  std::vector<SeriesPoint> points;
  for (int i = 0; i < 2000; ++i) points.push_back(point(i, std::sin(i)));
  ASSERT_OK(writer->append_points(loss_handle, points));
  ASSERT_OK(writer->append_points(power_handle, std::vector{point(5, 312.5)}));
  const std::string binary("a\0\xFF\n", 4);
  ASSERT_OK(writer->append_output(OutputStream::out, at(2), binary));
  ASSERT_OK(writer->append_output(OutputStream::error, at(2), "oops"));
  ASSERT_OK(writer->append_output(OutputStream::out, at(3), "more"));
  ASSERT_OK(writer->append_event(at(4), R"({"type":"result"})"));
  ASSERT_OK(writer->finish(run));

  const auto recording = recorded(run.id);
  ASSERT_EQ(recording.events.size(), 2U);
  EXPECT_EQ(recording.events[0].text, R"({"type":"hello"})");
  EXPECT_EQ(recording.events[0].time, at(1));
  EXPECT_EQ(recording.events[1].text, R"({"type":"result"})");
  EXPECT_EQ(recording.output.at(OutputStream::out), binary + "more");
  EXPECT_EQ(recording.output.at(OutputStream::error), "oops");
  ASSERT_EQ(recording.series.size(), 2U);
  ASSERT_EQ(recording.series.at(loss).points.size(), 2000U);
  EXPECT_EQ(recording.series.at(loss).points[1999].value, std::sin(1999));
  EXPECT_EQ(recording.series.at(loss).points[1999].step, 1999);
  EXPECT_EQ(recording.series.at(loss).points[1999].time_ns, points[1999].time_ns);
  EXPECT_EQ(recording.series.at(power).unit, "W");
  EXPECT_THAT(recording.damage, testing::IsEmpty());
}

TEST_P(RunStoreContract, ReadingGoesOnWhereItStopped) {
  Run run = a_run();
  const auto writer = writer_of(run);
  const SeriesKey loss{"loss", {}};
  const auto handle = writer->open_series(loss, "");
  ASSERT_OK(writer->append_points(handle, std::vector{point(1, 1.0)}));
  ASSERT_OK(writer->append_event(at(1), "{}"));
  ASSERT_OK(writer->flush());

  JournalRecording first;
  const auto position = read_journal(*store_, run.id, first);
  ASSERT_OK(position);
  EXPECT_THAT(first.values(loss), testing::ElementsAre(1.0));

  JournalRecording nothing;
  const auto same = read_journal(*store_, run.id, nothing, *position);
  ASSERT_OK(same);
  EXPECT_TRUE(nothing.events.empty() && nothing.series.empty());

  ASSERT_OK(writer->append_points(handle, std::vector{point(2, 2.0)}));
  ASSERT_OK(writer->append_output(OutputStream::out, at(2), "x"));
  ASSERT_OK(writer->finish(run));
  JournalRecording rest;
  ASSERT_OK(read_journal(*store_, run.id, rest, *same));
  EXPECT_TRUE(rest.events.empty());
  EXPECT_THAT(rest.values(loss), testing::ElementsAre(2.0));
  EXPECT_EQ(rest.output.at(OutputStream::out), "x");
  EXPECT_THAT(rest.damage, testing::IsEmpty());
}

TEST_P(RunStoreContract, SummariesLeaveOutWhatIsNotFinite) {
  Run run = a_run();
  const auto writer = writer_of(run);
  const auto handle = writer->open_series({"loss", {}}, "");
  writer->open_series({"never", {}}, "");
  ASSERT_OK(writer->append_points(
      handle, std::vector{point(0, NAN), point(1, 4), point(2, -2), point(3, 1), point(4, INFINITY)}));
  const auto summaries = writer->summaries();
  ASSERT_EQ(summaries.size(), 1U);
  EXPECT_EQ(summaries[0],
            (SeriesSummary{
                .name = "loss", .points = 5, .non_finite = 2, .first = 4, .last = 1, .min = -2, .max = 4, .mean = 1}));
}

TEST_P(RunStoreContract, UpdateAndFinishReplaceTheRun) {
  Run run = a_run();
  const auto writer = writer_of(run);
  run.provenance.torch_version = "2.11";
  ASSERT_OK(writer->update(run));
  EXPECT_EQ(store_->find_run(run.id)->provenance.torch_version, "2.11");
  EXPECT_EQ(store_->find_run(run.id)->state, RunState::running);

  run.verdict = Verdict::valid;
  run.metrics = {{"loss", 0.25}};
  run.duration = std::chrono::seconds(90);
  ASSERT_OK(writer->finish(run));
  const auto found = store_->find_run(run.id);
  ASSERT_OK(found);
  EXPECT_EQ(found->state, RunState::ended);
  EXPECT_EQ(found->verdict, Verdict::valid);
  EXPECT_EQ(found->metrics.at("loss"), 0.25);
  EXPECT_EQ(found->duration, std::chrono::seconds(90));
  EXPECT_FALSE(writer->append_event(at(9), "{}").ok());
  EXPECT_FALSE(writer->update(run).ok());
  EXPECT_FALSE(writer->finish(run).ok());
}

TEST_P(RunStoreContract, ARunWithoutItsWriterIsInterrupted) {
  Run run = a_run();
  auto writer = writer_of(run);
  ASSERT_OK(writer->append_points(writer->open_series({"loss", {}}, ""),
                                  std::vector{point(1, 0.5), point(2, 0.25), point(3, NAN)}));
  ASSERT_OK(writer->append_points(writer->open_series({"host.cpu_util", {}}, ""), std::vector{point(1, 0.9)}));
  ASSERT_OK(writer->append_points(writer->open_series({"val_loss", {{"split", "a"}}}, ""), std::vector{point(1, 7)}));
  ASSERT_OK(writer->append_output(OutputStream::out, at(1), "so far"));
  writer.reset();

  const auto found = store_->find_run(run.id);
  ASSERT_OK(found);
  EXPECT_EQ(found->state, RunState::ended);
  EXPECT_EQ(found->verdict, Verdict::interrupted);
  ASSERT_TRUE(found->error.has_value());
  EXPECT_EQ(found->error->kind, ErrorKind::interrupted);
  EXPECT_THAT(found->error->message, testing::HasSubstr("without closing it"));
  EXPECT_EQ(found->metrics, (std::map<std::string, double>{{"loss", 0.25}}));
  EXPECT_EQ(found->series.size(), 3U);
  EXPECT_GT(found->ended, found->started);
  EXPECT_EQ(recorded(run.id).output.at(OutputStream::out), "so far");
}

/// Of stores that know whether the process that owns a run lives. Over the API every owner has a lease for a time.
class OutlivedRunStoreContract : public RunStoreContract {};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(OutlivedRunStoreContract);

/// Sees the marks of a journal.
class SeenMarks final : public JournalVisitor {
 public:
  void on_mark(std::string_view mark) override { marks.emplace_back(mark); }
  std::vector<std::string> marks;
};

TEST_P(OutlivedRunStoreContract, ARunWhoseJobOutlivesItsOwnerWaitsForTheNext) {
  Run run = a_run();
  run.placement.place = "ssh:gpu01";
  auto first = writer_of(run);
  ASSERT_OK(first->append_output(OutputStream::out, at(1), "one\n"));
  const auto point_1 = point(1, 0.5);
  ASSERT_OK(first->append_points(first->open_series({"loss", {}}, ""), {&point_1, 1}));
  ASSERT_OK(first->mark("{\"taken\":4}"));
  ASSERT_OK(first->append_output(OutputStream::out, at(2), "half"));
  ASSERT_OK(first->flush());
  EXPECT_EQ(recorded(run.id).output[OutputStream::out], "one\n") << "nothing is there before its mark";
  EXPECT_FALSE(*is_without_owner(*store_, *store_->find_run(run.id)));
  EXPECT_ERROR(ErrorKind::busy, store_->take_run(run.id, {}));
  first.reset();

  const auto found = store_->find_run(run.id);
  ASSERT_OK(found);
  EXPECT_EQ(found->state, RunState::running);
  EXPECT_EQ(found->placement.place, "ssh:gpu01");
  EXPECT_TRUE(*is_without_owner(*store_, *found));
  EXPECT_THAT(recorded(run.id).damage, testing::IsEmpty());

  const auto lease = store_->take_run(run.id, {});
  ASSERT_OK(lease);
  EXPECT_EQ(lease->epoch, 2U);
  EXPECT_FALSE(*is_without_owner(*store_, *found));
  SeenMarks seen;
  auto next = continue_run(*store_, *lease, *found, seen);
  ASSERT_OK(next);
  EXPECT_THAT(seen.marks, testing::ElementsAre("{\"taken\":4}"));
  ASSERT_OK((*next)->append_output(OutputStream::out, at(3), "half two\n"));
  const auto point_2 = point(2, 0.25);
  ASSERT_OK((*next)->append_points((*next)->open_series({"loss", {}}, ""), {&point_2, 1}));
  Run ended = *found;
  ended.series = (*next)->summaries();
  ended.verdict = Verdict::valid;
  ASSERT_OK((*next)->finish(ended));
  EXPECT_EQ(recorded(run.id).output[OutputStream::out], "one\nhalf two\n");
  EXPECT_THAT(recorded(run.id).values({"loss", {}}), testing::ElementsAre(0.5, 0.25));
  EXPECT_THAT(recorded(run.id).damage, testing::IsEmpty());
  EXPECT_EQ(store_->find_run(run.id)->series.at(0).points, 2);
  EXPECT_EQ(store_->find_run(run.id)->series.at(0).mean, 0.375);
}

TEST_P(RunStoreContract, AnUnknownRunIsNotFound) {
  JournalRecording recording;
  EXPECT_ERROR(ErrorKind::not_found, store_->find_run("nobody"));
  EXPECT_ERROR(ErrorKind::not_found, store_->remove_run("nobody"));
  EXPECT_ERROR(ErrorKind::not_found, store_->join_run("nobody", "rank-1"));
  EXPECT_ERROR(ErrorKind::not_found, store_->change_run("nobody", [](Run&) { return Result<void>(); }));
  EXPECT_ERROR(ErrorKind::not_found, read_journal(*store_, "nobody", recording));
  EXPECT_ERROR(ErrorKind::not_found, attach_text(*store_, "nobody", "a.txt", ""));
  EXPECT_ERROR(ErrorKind::not_found, store_->artifacts("nobody"));
  EXPECT_ERROR(ErrorKind::not_found, read_artifact(*store_, "nobody", "a.txt"));
  EXPECT_THAT(names({}), testing::IsEmpty());
}

TEST_P(RunStoreContract, RemovingTakesEverythingAway) {
  Run run = a_run();
  auto writer = writer_of(run);
  EXPECT_ERROR(ErrorKind::busy, store_->remove_run(run.id));
  ASSERT_OK(writer->finish(run));
  ASSERT_OK(attach_text(*store_, run.id, "trace.json", "{}"));
  const Run kept = ended_run(a_run("kept"));
  ASSERT_OK(store_->remove_run(run.id));
  EXPECT_ERROR(ErrorKind::not_found, store_->find_run(run.id));
  EXPECT_ERROR(ErrorKind::not_found, read_artifact(*store_, run.id, "trace.json"));
  EXPECT_ERROR(ErrorKind::not_found, store_->remove_run(run.id));
  EXPECT_THAT(names({}), testing::ElementsAre("kept"));
}

TEST_P(RunStoreContract, FurtherRanksAddTheirSeries) {
  Run run = a_run();
  const auto writer = writer_of(run);
  const auto rank = join_run(*store_, run.id, "rank-3");
  ASSERT_OK(rank);
  EXPECT_EQ((*rank)->run_id(), run.id);
  EXPECT_ERROR(ErrorKind::busy, store_->join_run(run.id, "rank-3"));
  const SeriesKey cpu{"host.cpu_util", {}};
  ASSERT_OK(writer->append_points(writer->open_series(cpu, ""), std::vector{point(1, 0.1)}));
  ASSERT_OK((*rank)->append_points((*rank)->open_series(cpu, ""), std::vector{point(1, 0.3)}));
  ASSERT_OK((*rank)->append_output(OutputStream::out, at(1), "from 3"));
  Run other = a_run("not mine to change");
  ASSERT_OK((*rank)->update(other));
  ASSERT_OK((*rank)->finish(other));
  EXPECT_EQ(store_->find_run(run.id)->name, "mnist");
  EXPECT_EQ(store_->find_run(run.id)->state, RunState::running);
  ASSERT_OK(writer->finish(run));

  const auto recording = recorded(run.id);
  EXPECT_THAT(recording.values(cpu), testing::ElementsAre(0.1));
  EXPECT_THAT(recording.values({"host.cpu_util", {{"rank", "3"}}}), testing::ElementsAre(0.3));
  EXPECT_EQ(recording.output.at(OutputStream::out), "from 3");
  EXPECT_THAT(recording.damage, testing::IsEmpty());
}

TEST_P(RunStoreContract, ArtifactsAreKeptByteForByte) {
  const Run run = ended_run(a_run());
  EXPECT_TRUE(store_->artifacts(run.id)->empty());
  const std::string binary("\0\x01\xFF", 3);
  ASSERT_OK(attach_text(*store_, run.id, "b.bin", binary));
  ASSERT_OK(attach_text(*store_, run.id, "a.txt", "first"));
  ASSERT_OK(attach_text(*store_, run.id, "a.txt", "second"));
  const auto all = store_->artifacts(run.id);
  ASSERT_OK(all);
  ASSERT_EQ(all->size(), 2U);
  EXPECT_EQ((*all)[0].name, "a.txt");
  EXPECT_EQ((*all)[0].bytes, 6);
  EXPECT_EQ(*read_artifact(*store_, run.id, "b.bin"), binary);
  EXPECT_EQ(*read_artifact(*store_, run.id, "a.txt"), "second");
  EXPECT_ERROR(ErrorKind::not_found, read_artifact(*store_, run.id, "c"));
}

TEST_P(RunStoreContract, HostileNamesAreRefused) {
  Run run = a_run();
  const auto writer = writer_of(run);
  ASSERT_OK(attach_text(*store_, run.id, "fine", "x"));
  for (const std::string& name :
       {std::string(), std::string("."), std::string(".."), std::string("../escape"), std::string("a/b"),
        std::string("/etc/passwd"), std::string(".hidden"), std::string("a\0b", 3), std::string("a\nb"),
        std::string("no UTF-8: \xFF"), std::string(1000, 'a'), run.id + "/../" + run.id}) {
    SCOPED_TRACE(name);
    JournalRecording recording;
    EXPECT_ERROR(ErrorKind::not_found, store_->find_run(name));
    EXPECT_ERROR(ErrorKind::not_found, store_->remove_run(name));
    EXPECT_ERROR(ErrorKind::not_found, read_journal(*store_, name, recording));
    EXPECT_ERROR(ErrorKind::not_found, store_->find_study(name));
    EXPECT_ERROR(ErrorKind::not_found, store_->remove_study(name));
    EXPECT_ERROR(ErrorKind::usage, attach_text(*store_, run.id, name, "x"));
    EXPECT_ERROR(ErrorKind::not_found, read_artifact(*store_, run.id, name));
    EXPECT_ERROR(ErrorKind::usage, store_->join_run(run.id, name));
    if (name.empty()) continue;  // means: make one
    Run hostile = a_run();
    hostile.id = name;
    EXPECT_ERROR(ErrorKind::usage, store_->create_run(hostile, {}));
    Study study{.id = name};
    EXPECT_ERROR(ErrorKind::usage, store_->create_study(study));
  }
  EXPECT_EQ(store_->list_runs({})->total, 1);
  EXPECT_EQ(store_->artifacts(run.id)->size(), 1U);
}

}  // namespace assay
