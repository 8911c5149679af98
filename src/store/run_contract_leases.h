#pragma once

#include <string>

#include "store/journal/journal_encoder.h"
#include "store/journal/journal_owner.h"
#include "store/journal_state.h"
#include "store/run_contract_fixture.h"

namespace assay {

/// The life of a run that somebody else does: asked for, taken, recorded from far away, ended.
class LeaseContract : public RunStoreContract {
 protected:
  static constexpr Nanos kMinute = std::chrono::minutes(1);

  std::string queued_run() {
    Run run = a_run();
    const auto added = store_->add_run(run);
    EXPECT_TRUE(added.ok()) << added.error().text();
    return run.id;
  }
  Result<Lease> take(const std::string& id, const std::string& owner, Nanos length = kMinute) {
    return store_->take_run(id, {.owner = owner, .length = length});
  }
  Result<Run> become(const Lease& lease, RunState state) {
    return store_->change_owned(lease, [&](Run& run) -> Result<void> {
      run.state = state;
      if (state == RunState::ended) run.verdict = Verdict::valid;
      return {};
    });
  }
  /// Frames of one event each.
  static std::string event_frames(JournalEncoder& encoder, int count) {
    for (int i = 0; i < count; ++i) EXPECT_TRUE(encoder.add_event(at(i), "{}").ok());
    auto frames = encoder.frames();
    encoder.drop_frames();
    return frames;
  }
};

TEST_P(LeaseContract, ARunGoesThroughItsStates) {
  const auto id = queued_run();
  EXPECT_EQ(store_->find_run(id)->state, RunState::queued);
  EXPECT_FALSE(store_->find_lease(id)->has_value());
  EXPECT_THAT(names({.conditions = {{"state", Condition::Op::equal, "queued"}}}), testing::ElementsAre("mnist"));

  const auto lease = take(id, "gpu03");
  ASSERT_OK(lease);
  EXPECT_EQ(lease->epoch, 1U);
  EXPECT_EQ(store_->find_run(id)->state, RunState::starting);
  ASSERT_TRUE(store_->find_lease(id)->has_value());
  EXPECT_THAT((*store_->find_lease(id))->owner, testing::HasSubstr("gpu03"));
  ASSERT_OK(become(*lease, RunState::running));
  EXPECT_EQ(store_->find_run(id)->state, RunState::running);
  EXPECT_ERROR(ErrorKind::usage, become(*lease, RunState::starting));
  EXPECT_ERROR(ErrorKind::busy, store_->remove_run(id));

  ASSERT_OK(become(*lease, RunState::ended));
  EXPECT_EQ(store_->find_run(id)->verdict, Verdict::valid);
  EXPECT_FALSE(store_->find_lease(id)->has_value());
  EXPECT_ERROR(ErrorKind::denied, become(*lease, RunState::ended));
  EXPECT_ERROR(ErrorKind::usage, take(id, "gpu03"));
  ASSERT_OK(store_->remove_run(id));
}

TEST_P(LeaseContract, OnlyOneOwnerAtATime) {
  const auto id = queued_run();
  ASSERT_OK(take(id, "gpu03"));
  const auto refused = take(id, "gpu04");
  EXPECT_ERROR(ErrorKind::busy, refused);
  EXPECT_THAT(refused.error().message, testing::HasSubstr("gpu03"));
}

TEST_P(LeaseContract, AStaleOwnerIsFencedOff) {
  const auto id = queued_run();
  const auto stale = take(id, "gpu03");
  ASSERT_OK(stale);
  ASSERT_OK(become(*stale, RunState::running));
  place_->pass(2 * kMinute);
  JournalEncoder encoder;
  const auto frames = event_frames(encoder, 1);
  // Out of time, though nobody else wants it.
  EXPECT_ERROR(ErrorKind::denied, store_->append_frames(*stale, 0, frames));
  EXPECT_ERROR(ErrorKind::denied, store_->renew_lease(*stale, kMinute));

  const auto next = take(id, "leader");
  ASSERT_OK(next);
  EXPECT_EQ(next->epoch, stale->epoch + 1);
  EXPECT_EQ(store_->find_run(id)->state, RunState::running);
  EXPECT_ERROR(ErrorKind::denied, store_->append_frames(*stale, 0, frames));
  EXPECT_ERROR(ErrorKind::denied, become(*stale, RunState::ended));
  store_->give_up(*stale);
  ASSERT_OK(store_->append_frames(*next, 0, frames));
  ASSERT_OK(become(*next, RunState::ended));
}

TEST_P(LeaseContract, ARunOutlivesTheSilenceOfItsOwner) {
  const auto id = queued_run();
  const auto before = take(id, "gpu03");
  ASSERT_OK(before);
  ASSERT_OK(become(*before, RunState::running));
  place_->pass(std::chrono::hours(1));
  EXPECT_EQ(store_->find_run(id)->state, RunState::running);
  EXPECT_EQ(store_->list_runs({})->rows.at(0).state, RunState::running);
  // The same owner may come back at any time, also before its lease is over: an answer was lost.
  const auto again = take(id, "gpu03");
  ASSERT_OK(again);
  ASSERT_OK(take(id, "gpu03"));
  EXPECT_ERROR(ErrorKind::denied, become(*again, RunState::ended));
}

TEST_P(LeaseContract, ALeaseIsRenewed) {
  const auto id = queued_run();
  auto lease = take(id, "gpu03");
  ASSERT_OK(lease);
  for (int i = 0; i < 3; ++i) {
    place_->pass(kMinute / 2);
    lease = store_->renew_lease(*lease, kMinute);
    ASSERT_OK(lease);
  }
  place_->pass(kMinute / 2);
  ASSERT_OK(become(*lease, RunState::running));
}

TEST_P(LeaseContract, WhatIsGivenUpCanBeTaken) {
  const auto id = queued_run();
  const auto lease = take(id, "gpu03");
  ASSERT_OK(lease);
  store_->give_up(*lease);
  EXPECT_ERROR(ErrorKind::denied, become(*lease, RunState::running));
  ASSERT_OK(take(id, "gpu04"));
}

TEST_P(LeaseContract, FramesMayComeTwiceAndNeverWithAGap) {
  const auto id = queued_run();
  const auto lease = take(id, "gpu03");
  ASSERT_OK(lease);
  JournalEncoder encoder;
  const auto first = event_frames(encoder, 2);
  const auto second = event_frames(encoder, 3);
  EXPECT_EQ(*store_->append_frames(*lease, 0, first), first.size());
  EXPECT_EQ(*store_->append_frames(*lease, 0, first), first.size());
  EXPECT_EQ(*store_->append_frames(*lease, 0, first + second), first.size() + second.size());
  EXPECT_EQ(*store_->append_frames(*lease, 0, first), first.size() + second.size());
  const auto third = event_frames(encoder, 1);
  const auto fourth = event_frames(encoder, 1);
  const auto end = first.size() + second.size();
  EXPECT_EQ(*store_->append_frames(*lease, end + third.size(), fourth), end);
  ASSERT_OK(store_->append_frames(*lease, end, third));
  ASSERT_OK(store_->append_frames(*lease, end + third.size(), fourth));
  EXPECT_EQ(recorded(id).events.size(), 7U);
  EXPECT_THAT(recorded(id).damage, testing::IsEmpty());
}

TEST_P(LeaseContract, OnlyFramesAreTaken) {
  const auto id = queued_run();
  const auto lease = take(id, "gpu03");
  ASSERT_OK(lease);
  JournalEncoder encoder;
  auto frames = event_frames(encoder, 2);
  EXPECT_ERROR(ErrorKind::usage, store_->append_frames(*lease, 0, "no frames"));
  EXPECT_ERROR(ErrorKind::usage, store_->append_frames(*lease, 0, frames.substr(0, frames.size() - 1)));
  // Good ones of another place.
  EXPECT_ERROR(ErrorKind::usage, store_->append_frames(*lease, 0, frames.substr(frames.size() / 2)));
  frames[frames.size() - 1] ^= 1;
  EXPECT_ERROR(ErrorKind::usage, store_->append_frames(*lease, 0, frames));
  EXPECT_EQ(store_->journals(id)->at(0).size, 0U);
  EXPECT_EQ(store_->journals(id)->at(0).owner, JournalOwner::live);
}

TEST_P(LeaseContract, ARunThatNeverBeganMissesNothing) {
  Run run = a_run();
  run.started = {};
  ASSERT_OK(store_->add_run(run));
  const auto lease = take(run.id, "gpu03");
  ASSERT_OK(lease);
  ASSERT_OK(store_->append_frames(*lease, 0, {}));
  ASSERT_OK(become(*lease, RunState::ended));
  EXPECT_THAT(recorded(run.id).damage, testing::IsEmpty());
}

TEST_P(LeaseContract, FramesAreReadAsTheyWereAppended) {
  const auto id = queued_run();
  const auto lease = take(id, "gpu03");
  ASSERT_OK(lease);
  JournalEncoder encoder;
  const auto frames = event_frames(encoder, 4);
  ASSERT_OK(store_->append_frames(*lease, 0, frames));
  EXPECT_EQ(*store_->read_frames(id, kOwnersJournal, 0, 1 << 20), frames);
  EXPECT_EQ(*store_->read_frames(id, kOwnersJournal, 5, 7), frames.substr(5, 7));
  EXPECT_EQ(*store_->read_frames(id, kOwnersJournal, frames.size(), 7), "");
  EXPECT_ERROR(ErrorKind::not_found, store_->read_frames(id, "rank-7", 0, 1));
  EXPECT_ERROR(ErrorKind::not_found, store_->read_frames(id, "../run.json", 0, 1));
  EXPECT_ERROR(ErrorKind::not_found, store_->read_frames("nobody", kOwnersJournal, 0, 1));
}

TEST_P(LeaseContract, TheOwnerBringsTheJournalsOfFurtherRanks) {
  const auto id = queued_run();
  const auto lease = take(id, "gpu03");
  ASSERT_OK(lease);
  JournalEncoder own;
  ASSERT_OK(store_->append_frames(*lease, 0, event_frames(own, 1)));
  auto rank = *lease;
  rank.journal = "rank-1";
  EXPECT_EQ(*store_->append_frames(rank, 0, {}), 0U);
  JournalEncoder encoder;
  const auto first = event_frames(encoder, 2);
  const auto second = event_frames(encoder, 1);
  EXPECT_EQ(*store_->append_frames(rank, 0, first), first.size());
  EXPECT_EQ(*store_->append_frames(rank, 0, first + second), first.size() + second.size());
  const auto journals = *store_->journals(id);
  ASSERT_EQ(journals.size(), 2U);
  EXPECT_EQ(journals[1].name, "rank-1");
  EXPECT_EQ(journals[1].owner, JournalOwner::live) << "more may come";
  EXPECT_EQ(recorded(id).events.size(), 4U);

  rank.journal = "../rank-1";
  EXPECT_FALSE(store_->append_frames(rank, 0, first).ok());
  rank.journal = "rank-1";
  place_->pass(2 * kMinute);
  EXPECT_ERROR(ErrorKind::denied, store_->append_frames(rank, first.size(), second));
  const auto next = take(id, "gpu04");
  ASSERT_OK(next);
  EXPECT_ERROR(ErrorKind::denied, store_->append_frames(rank, first.size(), second));
  ASSERT_OK(become(*next, RunState::ended));
  EXPECT_EQ(store_->journals(id)->at(1).owner, JournalOwner::gone);
}

TEST_P(LeaseContract, AQueuedRunCanBeWithdrawn) {
  const auto id = queued_run();
  ASSERT_OK(store_->remove_run(id));
  EXPECT_ERROR(ErrorKind::not_found, take(id, "gpu03"));
  EXPECT_ERROR(ErrorKind::not_found, store_->find_lease(id));
}

}  // namespace assay
