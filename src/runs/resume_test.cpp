#include <fmt/format.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include "base/files.h"
#include "base/spawn.h"
#include "base/units.h"
#include "bytes/frame.h"
#include "launch/fake_launcher.h"
#include "model/run.h"
#include "runs/execute.h"
#include "runs/follow.h"
#include "runs/workload.h"
#include "store/journal/journal_frames.h"
#include "store/journal/journal_recording_fixture.h"
#include "store/local/local_store.h"
#include "store/run_query.h"
#include "store/run_writer.h"
#include "telemetry/lines/reading_lines.h"
#include "telemetry/metric_source.h"

namespace assay {
namespace {

using namespace std::chrono_literals;
using testing::Contains;
using testing::Field;
using testing::HasSubstr;

/// What an owner dies of, at any place, in the middle of its work.
struct OwnerDied {};

/// Dies at the n-th thing that it sees.
class MortalObserver final : public RunObserver {
 public:
  explicit MortalObserver(int lives) : lives_(lives) {}
  void on_output(OutputStream, std::string_view) override { live(); }
  void on_progress(const RunFacts&, Nanos) override { live(); }

 private:
  void live() {
    if (--lives_ == 0) throw OwnerDied();
  }
  int lives_;
};

/// Owners that start a job with it die before or after that.
class DeadlyLauncher final : public Launcher {
 public:
  DeadlyLauncher(Launcher& inner, bool starts) : inner_(inner), starts_(starts) {}
  std::string_view name() const override { return "deadly"; }
  Result<std::unique_ptr<RunningJob>> start(const Job& job) override {
    if (starts_) {
      EXPECT_TRUE(inner_.start(job).ok());
    }
    throw OwnerDied();
  }
  Result<std::unique_ptr<RunningJob>> attach(std::string_view handle, PerStream<std::uint64_t> taken) override {
    return inner_.attach(handle, taken);
  }

 private:
  Launcher& inner_;
  const bool starts_;
};

/// What is recorded of a run, as text: all but times.
std::string summary_of(RunStore& store, const Run& run) {
  JournalRecording recording;
  EXPECT_TRUE(read_journal(store, run.id, recording).ok());
  std::string text = fmt::format("verdict {} exit {} duration {}\n", name_of(run.verdict), run.exit_code.value_or(-1),
                                 run.duration.count());
  for (const auto& [name, value] : run.metrics) text += fmt::format("{} = {}\n", name, value);
  for (const auto& flag : run.flags) {
    if (flag.kind != "recording_gap") text += fmt::format("{}: {}\n", flag.kind, flag.message);
  }
  std::map<std::string, std::string> series;
  for (const auto& one : run.series) {
    series[one.name] +=
        fmt::format("{} points, {} to {}, {} to {}, {}", one.points, one.first, one.last, one.min, one.max, one.mean);
  }
  for (const auto& [name, sums] : series) text += fmt::format("{}: {}\n", name, sums);
  for (const auto& [key, one] : recording.series) {
    text += fmt::format("{} {} in {}:", key.name, json::serialize(json::value_from(key.labels)), one.unit);
    for (const auto& point : one.points) text += fmt::format(" {}@{}", point.value, point.step);
    text += '\n';
  }
  for (const auto& event : recording.events) text += event.text + '\n';
  for (const auto& damage : recording.damage) text += damage + '\n';
  return text + recording.output[OutputStream::out] + "----\n" + recording.output[OutputStream::error];
}

/// What two nodes say of themselves, the first of them without its GPU for a while, as its lines come in pieces.
std::vector<JobScript::Say> readings_of_two_nodes() {
  std::array writers = {ReadingLineWriter({.number = 0, .of = 2, .host = "gpu01", .began = {}}),
                        ReadingLineWriter({.number = 1, .of = 2, .host = "gpu02", .began = {}})};
  const auto sample = [](std::string name, double value, std::map<std::string, std::string> labels) {
    return Sample{.key = {.name = std::move(name), .labels = std::move(labels)}, .unit = "W", .value = value};
  };
  std::vector<JobScript::Say> said;
  const auto say = [&](std::string text) { said.push_back({std::move(text), JobStream::readings}); };
  for (int second = 0; second < 3; ++second) {
    for (auto& writer : writers) {
      std::string lines;
      if (second == 0) writer.introduce(lines);
      if (second == 1) writer.tell_silence(lines, "nvml", "no answer");
      std::vector<Sample> samples = {sample("host.cpu_util", second / 8.0, {})};
      if (second > 1) samples.push_back(sample("gpu.power_w", 500 + second, {{"gpu", "GPU-1a"}}));
      if (second == 2 && &writer == &writers[0]) writer.tell_silence(lines, "nvml", "");
      writer.add(lines, WallTime(std::chrono::seconds(second)), samples);
      if (second == 2) lines += "{\"torn\n";
      say(lines.substr(0, lines.size() / 2));
      say(lines.substr(lines.size() / 2));
    }
  }
  return said;
}

/// A workload that does everything that a recorder must remember from one line to the next. Its events say where they
/// belong: what comes first of two streams is a matter of chance whoever reads them.
JobScript talkative_script() {
  const auto say = [](std::string text) { return JobScript::Say{std::move(text)}; };
  const auto tell = [](std::string text) { return JobScript::Say{text + "\n", JobStream::events}; };
  const auto complain = [](std::string text) { return JobScript::Say{std::move(text), JobStream::error}; };
  const JobScript::Wait a_while{60ms};
  JobScript script{.steps = {tell(R"({"type":"hello","total_steps":9,"versions":{"torch":"2.11"},"model":"mlp"})"),
                             say("Epoch 1\nloss=0.5 accuracy: 35.5\n"),
                             a_while,
                             say("loss=0.25\nEpoch 2\nlo"),
                             complain("a war"),
                             a_while,
                             say("ss=0.125 accuracy: 0.5\n[rank1] loss=7 val_loss=0.75\nmemory: "),
                             complain("ning\n"),
                             a_while,
                             tell(R"({"type":"step","step":3,"tokens_per_second":100})"),
                             tell(R"({"type":"steps","tokens_per_second":[101,102,103]})"),
                             tell(R"({"type":"step","tokens_per_second":null,"rank":1})"),
                             a_while,
                             tell("not an event"),
                             tell(R"({"type":"warning","kind":"slow","message":"a slow disk"})"),
                             tell(R"({"type":"odd"})"),
                             a_while,
                             JobScript::Flood{(std::size_t{1} << 20) + 100},
                             a_while,
                             say("the end of a long line\nperplexity 12 took 30 ms\nEpoch 3\nloss=0.1\n"),
                             a_while,
                             say(" 10% 1/10 [00:01<00:09, val_loss=0.75]\r"),
                             a_while,
                             say(" 20% 2/10 [00:02<00:08, val_loss=0.75]\r"),
                             complain("last words"),
                             a_while,
                             tell(R"({"type":"eval","step":7,"val_accuracy":0.9})"),
                             tell(R"({"type":"result","metrics":{"score":42}})"),
                             say("no newline at the end")},
                   .ran_for = 540ms};
  // One after each step: lines are torn between two looks of the owner.
  std::size_t at = 1;
  for (auto& reading : readings_of_two_nodes()) {
    script.steps.insert(script.steps.begin() + static_cast<std::ptrdiff_t>(at), std::move(reading));
    at = std::min(at + 2, script.steps.size());
  }
  return script;
}

class Resume : public testing::Test {
 protected:
  using Run = assay::Run;  // gtest has a function of that name

  Resume() { launcher_.script = talkative_script(); }

  RunServices services(RunStore& store, RunObserver& observer) {
    return {.store = store,
            .launcher = launcher_,
            .clock = clock_,
            .observer = observer,
            .make_sources = [](std::optional<pid_t>) { return std::vector<std::unique_ptr<MetricSource>>(); },
            .place = "fake:1"};
  }
  static Workload a_workload() {
    return {.job = {.arguments = {"train.py"}},
            .patterns = {{.name = "took", .expression = "took ([0-9]+) ms"}},
            .time_limit = 1h};
  }
  static Run a_run() {
    Run run;
    run.name = "mnist";
    run.kind = "command";
    run.nodes = 2;
    return run;
  }
  Run undisturbed(RunStore& store) {
    auto run = execute_run(a_run(), a_workload(), services(store, nobody_));
    EXPECT_TRUE(run.ok()) << run.error().text();
    return *run;
  }
  /// The id of the run whose owner died at the n-th thing that it saw; nothing if it lived.
  std::optional<std::string> die_at(int lives) {
    MortalObserver observer(lives);
    try {
      EXPECT_TRUE(execute_run(a_run(), a_workload(), services(*store_, observer)).ok());
      return std::nullopt;
    } catch (const OwnerDied&) {
      return store_->list_runs({})->rows.at(0).id;
    }
  }
  Result<Run> resume(const std::string& id) { return resume_run(id, services(*store_, nobody_)); }

  ManualClock clock_;
  FakeLauncher launcher_{clock_};
  RunObserver nobody_;
  TemporaryFolder folder_;
  std::unique_ptr<RunStore> store_ = open_local_store(folder_.path()).value();
};

TEST_F(Resume, ARunWithoutAnOwnerWaitsForTheNext) {
  const auto id = die_at(3);
  ASSERT_TRUE(id);
  const auto found = store_->find_run(*id);
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->state, RunState::running);
  EXPECT_EQ(found->placement.place, "fake:1");
  EXPECT_TRUE(*is_without_owner(*store_, *found));
  EXPECT_EQ(store_->list_runs({})->rows.at(0).state, RunState::running);
  EXPECT_EQ(store_->reindex()->interrupted, 0);

  const auto run = resume(*id);
  ASSERT_TRUE(run.ok()) << run.error().text();
  EXPECT_EQ(launcher_.started.size(), 1U) << "it is not started twice";
  EXPECT_THAT(run->flags, Contains(Field(&Flag::kind, "recording_gap")));
  EXPECT_EQ(store_->find_run(*id)->state, RunState::ended);
  EXPECT_FALSE(*is_without_owner(*store_, *store_->find_run(*id)));
  EXPECT_EQ(resume(*id).error().kind, ErrorKind::usage) << "it has ended";
}

/// Is told to leave as soon as it has seen some output.
class LeavingObserver final : public RunObserver {
 public:
  void on_output(OutputStream, std::string_view) override {
    const char byte = FollowOptions::kLeave;
    EXPECT_EQ(::write(pipe_.write_end.get(), &byte, 1), 1);
  }
  int fd() const { return pipe_.read_end.get(); }

 private:
  Pipe pipe_ = make_pipe().value();
};

TEST_F(Resume, WhoIsToldToLeaveLetsTheRunGoOn) {
  const TemporaryFolder other;
  const auto store = open_local_store(other.path()).value();
  const auto expected = summary_of(*store, undisturbed(*store));
  LeavingObserver observer;
  auto own = services(*store_, observer);
  own.stop_fd = observer.fd();
  const auto left = execute_run(a_run(), a_workload(), own);
  ASSERT_FALSE(left.ok());
  EXPECT_EQ(left.error().kind, ErrorKind::interrupted);
  const auto id = store_->list_runs({})->rows.at(0).id;
  EXPECT_TRUE(*is_without_owner(*store_, *store_->find_run(id)));
  // Whoever takes it up may be told the same.
  LeavingObserver next;
  auto theirs = services(*store_, next);
  theirs.stop_fd = next.fd();
  const auto again = resume_run(id, theirs);
  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.error().kind, ErrorKind::interrupted);
  const auto run = resume(id);
  ASSERT_TRUE(run.ok()) << run.error().text();
  EXPECT_EQ(summary_of(*store_, *run), expected);
  EXPECT_EQ(launcher_.started.size(), 2U) << "one of them the undisturbed one";
}

TEST_F(Resume, APlaceIsAskedForAsManyGpusAsTheRunWasGiven) {
  auto run = a_run();
  run.placement.gpus = {"any-0", "any-1"};
  ASSERT_TRUE(execute_run(run, a_workload(), services(*store_, nobody_)).ok());
  EXPECT_EQ(launcher_.started.back().gpus_per_node, 2);
  EXPECT_FALSE(launcher_.started.back().devices) << "which they are is the place's to say";
  auto none = a_run();
  none.placement.gpus.emplace();
  ASSERT_TRUE(execute_run(none, a_workload(), services(*store_, nobody_)).ok());
  EXPECT_EQ(launcher_.started.back().devices, std::vector<std::string>());
}

TEST_F(Resume, WhereverItsOwnerDiesTheRunIsTheSame) {
  const TemporaryFolder other;
  const auto store = open_local_store(other.path()).value();
  const auto expected = summary_of(*store, undisturbed(*store));
  EXPECT_THAT(expected, HasSubstr(R"(gpu.power_w {"gpu":"GPU-1a","node":"gpu02"} in W: 502@-1)"));
  EXPECT_THAT(expected, HasSubstr("telemetry_missing: 'nvml of gpu02' gave no system metrics: no answer."));
  EXPECT_THAT(expected, testing::Not(HasSubstr("nvml of gpu01")));
  int deaths = 0;
  while (const auto id = die_at(deaths + 1)) {
    ++deaths;
    clock_.advance(deaths % 2 ? 0s : 90s);  // before or after its end
    const auto run = resume(*id);
    ASSERT_TRUE(run.ok()) << run.error().text();
    EXPECT_EQ(summary_of(*store_, *run), expected) << "after the " << deaths << ". thing that it saw";
  }
  EXPECT_GT(deaths, 8);
}

/// Dies while its job waits.
class ImpatientObserver final : public RunObserver {
 public:
  void on_waiting(std::string_view, Nanos) override { throw OwnerDied(); }
};

TEST_F(Resume, TimeInAQueueIsNotTheRunsAlsoWhereItsOwnerDiedInIt) {
  launcher_.script = {.steps = {JobScript::Say{"loss=0.5\n"}, JobScript::Wait{5min}}, .queued = 3h, .ran_for = 5min};
  auto workload = a_workload();
  workload.time_limit = 10min;
  for (const Nanos away : {Nanos(1h), Nanos(3h + 1min), Nanos(5h)}) {
    SCOPED_TRACE(format_duration(away));
    ImpatientObserver observer;
    const auto asked = clock_.wall();
    EXPECT_THROW((void)execute_run(a_run(), workload, services(*store_, observer)).ok(), OwnerDied);
    const auto id = store_->list_runs({})->rows.at(0).id;
    EXPECT_EQ(store_->find_run(id)->started, WallTime{});
    clock_.advance(away);
    const auto run = resume(id);
    ASSERT_TRUE(run.ok()) << run.error().text();
    EXPECT_EQ(run->verdict, Verdict::valid) << "it kept its limit";
    EXPECT_GE(run->started, asked + std::min(away, Nanos(3h)));
    EXPECT_LE(run->ended, clock_.wall());
  }
}

TEST_F(Resume, OwnersMayDieAgainAndAgain) {
  const TemporaryFolder other;
  const auto store = open_local_store(other.path()).value();
  const auto expected = summary_of(*store, undisturbed(*store));
  const auto id = die_at(1);
  ASSERT_TRUE(id);
  std::optional<Run> run;
  for (int owner = 2; owner < 100 && !run; ++owner) {
    // The beginning of a line comes again: whoever dies before its end has brought the run no further.
    MortalObserver observer(2 + owner / 2);
    try {
      run = resume_run(*id, services(*store_, observer)).value();
    } catch (const OwnerDied&) {
      EXPECT_TRUE(*is_without_owner(*store_, *store_->find_run(*id)));
    }
  }
  ASSERT_TRUE(run) << "nobody came to its end";
  EXPECT_EQ(summary_of(*store_, *run), expected);
  EXPECT_GT(std::count_if(run->flags.begin(), run->flags.end(),
                          [](const Flag& flag) { return flag.kind == "recording_gap"; }),
            2);
}

/// Where a frame of the journal begins or ends, those in groups included, and places in between.
std::vector<std::size_t> places_to_cut(std::string_view journal) {
  std::vector<std::size_t> places;
  const std::function<void(std::size_t, std::string_view)> visit = [&](std::size_t offset, std::string_view bytes) {
    while (!bytes.empty()) {
      const auto frame = look_at_frame(bytes, offset);
      ASSERT_EQ(frame.status, FrameView::Status::whole);
      places.insert(places.end(), {offset, offset + frame.size() / 2, offset + frame.size() - 1});
      if (kind_of(frame) == FrameKind::group) visit(offset + kFrameHeader, frame.payload);
      bytes.remove_prefix(frame.size());
      offset += frame.size();
    }
  };
  visit(0, journal);
  places.push_back(journal.size());
  std::sort(places.begin(), places.end());
  places.erase(std::unique(places.begin(), places.end()), places.end());
  return places;
}

TEST_F(Resume, WhereverItsJournalIsTornTheRunIsTheSame) {
  launcher_.script.steps.erase(
      std::remove_if(launcher_.script.steps.begin(), launcher_.script.steps.end(),
                     [](const auto& step) { return std::holds_alternative<JobScript::Flood>(step); }),
      launcher_.script.steps.end());
  const Run whole = undisturbed(*store_);
  const auto expected = summary_of(*store_, whole);
  const auto folder = folder_.path() / "runs" / whole.id;
  const auto journal = read_file(folder / "journal").value();
  auto going_on = a_run();
  going_on.id = whole.id;
  going_on.created = whole.created;
  going_on.started = whole.started;
  going_on.state = RunState::running;
  going_on.placement.place = "fake:1";
  const auto first = look_at_frame(journal, 0).size();
  std::size_t zeros = 0;
  for (const auto place : places_to_cut(journal)) {
    // As kill -9 leaves it, and every other time as a power cut does that kept data from the disk.
    zeros = 40 - zeros;
    ASSERT_TRUE(write_file_atomically(folder / "journal", journal.substr(0, place) + std::string(zeros, '\0')).ok());
    ASSERT_TRUE(write_file_atomically(folder / "run.json", pretty_json(to_json(going_on))).ok());
    ASSERT_TRUE(write_file_atomically(folder / "lease.json", R"({"owner":"pid 1 on laptop","epoch":1})").ok());
    const auto run = resume(whole.id);
    ASSERT_TRUE(run.ok()) << run.error().text();
    if (place < first) {
      EXPECT_EQ(run->verdict, Verdict::interrupted) << "the journal does not say yet that a job will be started";
    } else {
      ASSERT_EQ(summary_of(*store_, *run), expected) << "cut at " << place << " of " << journal.size();
    }
  }
}

TEST_F(Resume, AJobIsFoundByItsTokenWhereNobodyHasHeardOfItsStart) {
  for (const bool starts : {true, false}) {
    DeadlyLauncher deadly(launcher_, starts);
    RunServices own = services(*store_, nobody_);
    const RunServices dying{.store = own.store,
                            .launcher = deadly,
                            .clock = own.clock,
                            .observer = own.observer,
                            .make_sources = own.make_sources,
                            .place = own.place};
    EXPECT_THROW((void)execute_run(a_run(), a_workload(), dying), OwnerDied);
    const auto id = store_->list_runs({})->rows.at(0).id;
    const auto run = resume(id);
    ASSERT_TRUE(run.ok()) << run.error().text();
    EXPECT_EQ(run->verdict, starts ? Verdict::flagged : Verdict::interrupted);
    EXPECT_EQ(run->metrics.contains("score"), starts);
  }
  EXPECT_EQ(launcher_.started.size(), 1U);
}

TEST_F(Resume, OnlyOneOwnerAtATime) {
  const auto id = die_at(2);
  ASSERT_TRUE(id);
  const auto lease = store_->take_run(*id, {});
  ASSERT_TRUE(lease.ok());
  EXPECT_EQ(lease->epoch, 2U);
  EXPECT_EQ(resume(*id).error().kind, ErrorKind::busy);
  store_->give_up(*lease);
  // Somebody has the job, though the run seems to be free: it stays as it is.
  const auto job = launcher_.attach("fake:1", {});
  ASSERT_TRUE(job.ok());
  EXPECT_EQ(resume(*id).error().kind, ErrorKind::busy);
  EXPECT_TRUE(*is_without_owner(*store_, *store_->find_run(*id)));
}

TEST_F(Resume, TheTimeLimitCountsFromTheStart) {
  launcher_.script = {.steps = {JobScript::Say{"on and on\n"}}, .forever = true};
  const auto id = die_at(1);
  ASSERT_TRUE(id);
  clock_.advance(20min);
  const auto run = resume(*id);
  ASSERT_TRUE(run.ok()) << run.error().text();
  EXPECT_EQ(run->error->kind, ErrorKind::timeout);
  EXPECT_EQ(run->duration, 1h);
}

TEST_F(Resume, AnEndThatNobodySawIsSaid) {
  launcher_.script = {.steps = {JobScript::Say{"short\n"}, JobScript::Wait{1s}}};
  const auto id = die_at(1);
  ASSERT_TRUE(id);
  clock_.advance(20min);
  const auto run = resume(*id);
  ASSERT_TRUE(run.ok()) << run.error().text();
  EXPECT_EQ(run->verdict, Verdict::flagged);
  EXPECT_THAT(run->flags, Contains(Field(&Flag::kind, "end_unseen")));
}

TEST_F(Resume, DamageInTheMiddleOfTheJournalIsNotPassedOver) {
  const auto id = die_at(12);
  ASSERT_TRUE(id);
  const auto path = folder_.path() / "runs" / *id / "journal";
  auto journal = read_file(path).value();
  const auto first = look_at_frame(journal, 0).size();
  ASSERT_GT(journal.size(), first + 100);
  journal[first + 40] ^= 1;
  ASSERT_TRUE(write_file_atomically(path, journal).ok());
  const auto run = resume(*id);
  ASSERT_TRUE(run.ok()) << run.error().text();
  EXPECT_EQ(run->verdict, Verdict::invalid);
  EXPECT_THAT(run->flags, Contains(Field(&Flag::kind, "recording_incomplete")));
}

TEST_F(Resume, WhatEndsWithItsOwnerIsNotTakenUp) {
  Run run = a_run();
  const auto writer = begin_run(*store_, run).value();
  const auto refused = resume(run.id);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, ErrorKind::usage);
  EXPECT_THAT(refused.error().message, HasSubstr("ends with whoever started it"));
  EXPECT_EQ(resume("nobody").error().kind, ErrorKind::not_found);
}

}  // namespace
}  // namespace assay
