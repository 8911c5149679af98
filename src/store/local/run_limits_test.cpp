// What a run may take of a leader's disk and open files.

#include <sys/resource.h>

#include <algorithm>

#include "base/json.h"
#include "base/units.h"
#include "store/journal/journal_encoder.h"
#include "store/journal_state.h"
#include "store/lease.h"
#include "store/local/local_store_fixture.h"
#include "store/run_contract_fixture.h"

namespace assay {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

/// Frames of an event of some hundred bytes each.
std::string long_frames(JournalEncoder& encoder, int count) {
  const auto event = json::serialize(json::object{{"text", std::string(200, 'x')}});
  for (int i = 0; i < count; ++i) EXPECT_TRUE(encoder.add_event(WallTime(std::chrono::seconds(i)), event).ok());
  auto frames = encoder.frames();
  encoder.drop_frames();
  return frames;
}

/// Whatever a node sends for a run: the disk is everybody's.
TEST_F(LocalStoreTest, ARunThatRecordsTooMuchIsEndedWithTheReason) {
  const auto store = open_local_store(data_, {.most_of_a_run = Bytes{50'000}}).value();
  const auto begin = [&](const std::string& name) {
    Run run;
    run.name = name;
    run.kind = "command";
    return *store->create_run(run, {.owner = "gpu03", .length = std::chrono::minutes(5)});
  };
  const auto greedy = begin("greedy");
  const auto modest = begin("modest");
  JournalEncoder encoder;
  std::uint64_t size = 0;
  Result<std::uint64_t> appended = size;
  while (appended.ok() && size < 200'000) {
    size = *appended;
    appended = store->append_frames(greedy, size, long_frames(encoder, 20));
  }
  ASSERT_FALSE(appended.ok());
  EXPECT_EQ(appended.error().kind, ErrorKind::usage);
  EXPECT_THAT(appended.error().message, HasSubstr("bytes_per_run"));
  EXPECT_GT(size, 40'000U);
  EXPECT_LE(store->journals(greedy.run)->front().size, 50'000U);
  const auto ended = store->find_run(greedy.run);
  ASSERT_OK(ended);
  EXPECT_EQ(ended->state, RunState::ended);
  EXPECT_EQ(ended->verdict, Verdict::failed);
  ASSERT_TRUE(ended->error);
  EXPECT_THAT(ended->error->message, HasSubstr("may record"));
  ASSERT_THAT(ended->flags, SizeIs(1));
  EXPECT_EQ(ended->flags[0].kind, "recording_incomplete");
  EXPECT_EQ(store->read_frames(greedy.run, kOwnersJournal, 0, 100'000)->size(), size) << "what was kept can be read";

  // Another has its own room; who is not its owner any more ends nothing.
  JournalEncoder other;
  auto stale = modest;
  ++stale.epoch;
  EXPECT_ERROR(ErrorKind::denied, store->append_frames(stale, 0, std::string(60'000, 'x')));
  ASSERT_OK(store->append_frames(modest, 0, long_frames(other, 20)));
  EXPECT_EQ(store->find_run(modest.run)->state, RunState::running);
}

TEST_F(LocalStoreTest, AFileForWhichThereIsNoRoomIsRefusedAndLeavesNothing) {
  const auto store = open_local_store(data_, {.most_of_a_run = Bytes{50'000}}).value();
  Run run;
  run.kind = "command";
  const auto lease = *store->create_run(run, {.owner = "gpu03", .length = std::chrono::minutes(5)});
  ASSERT_OK(attach_text(*store, run.id, "small", std::string(20'000, 'x')));
  const auto refused = attach_text(*store, run.id, "large", std::string(40'000, 'x'));
  EXPECT_ERROR(ErrorKind::usage, refused);
  EXPECT_THAT(refused.error().message, HasSubstr("bytes_per_run"));
  EXPECT_THAT(*store->artifacts(run.id), SizeIs(1));
  std::size_t files = 0;
  for (const auto& file : fs::directory_iterator(data_ / "runs" / run.id / "artifacts")) files += file.exists() ? 1 : 0;
  EXPECT_EQ(files, 1U);
  EXPECT_EQ(store->find_run(run.id)->state, RunState::running) << "it may go on without";
  EXPECT_EQ(lease.run, run.id);
}

TEST_F(LocalStoreTest, FilesWithoutEndAreRefusedHoweverSmallTheyAre) {
  const auto store = open_local_store(data_, {.most_of_a_run = Bytes{50'000}}).value();
  Run run;
  run.kind = "command";
  const auto lease = *store->create_run(run, {.owner = "gpu03", .length = std::chrono::minutes(5)});
  ASSERT_OK(attach_text(*store, run.id, "first", "x"));
  fs::create_directories(data_ / "runs" / run.id / "ranks");
  for (std::size_t i = 0; i < kMostFilesOfRun; ++i) {
    put(data_ / "runs" / run.id / "artifacts" / std::to_string(i), "");
    put(data_ / "runs" / run.id / "ranks" / (std::to_string(i) + ".journal"), "");
  }
  const auto refused = attach_text(*store, run.id, "one-more", "");
  EXPECT_ERROR(ErrorKind::usage, refused);
  EXPECT_THAT(refused.error().message, HasSubstr("files already"));
  ASSERT_OK(attach_text(*store, run.id, "first", "again"));
  auto further = lease;
  further.journal = "one-more";
  EXPECT_ERROR(ErrorKind::usage, store->append_frames(further, 0, ""));
  EXPECT_ERROR(ErrorKind::usage, store->join_run(run.id, "one-more"));
  JournalEncoder encoder;
  ASSERT_OK(store->append_frames(lease, 0, long_frames(encoder, 1)));
}

TEST_F(LocalStoreTest, WhoJoinsWithoutEndTakesNotTheFilesThatEverybodyNeeds) {
  ManualClock clock;
  const auto store = open_local_store(data_, {.clock = &clock}).value();
  Run run;
  run.kind = "command";
  const auto lease = *store->create_run(run, {.owner = "gpu03", .length = std::chrono::hours(1)});
  Run other;
  other.kind = "command";
  ASSERT_OK(store->create_run(other, {.owner = "gpu04", .length = std::chrono::hours(1)}));
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit few{.rlim_cur = std::min<rlim_t>(512, before.rlim_max), .rlim_max = before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  Result<Lease> joined = lease;
  int ranks = 0;
  while (ranks < 200 && (joined = store->join_run(run.id, "rank-" + std::to_string(ranks))).ok()) ++ranks;
  EXPECT_EQ(ranks, 64);
  EXPECT_ERROR(ErrorKind::io, joined);
  EXPECT_ERROR(ErrorKind::io, store->join_run(other.id, "rank-1"));
  // Those of a run that is over are found out.
  ASSERT_OK(store->change_owned(lease, [](Run& mine) -> Result<void> {
    mine.state = RunState::ended;
    return {};
  }));
  clock.advance(std::chrono::minutes(2));
  EXPECT_TRUE(store->join_run(other.id, "rank-1").ok());
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
}

}  // namespace
}  // namespace assay
