#include "agent/outbox.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "agent/fake_leader_fixture.h"

namespace assay {
namespace {

using testing::ElementsAre;

struct Fixture {
  explicit Fixture(std::size_t memory = 4, std::string stream = "s1") {
    auto spool = Spool::open({.folder = folder.path()});
    EXPECT_TRUE(spool.ok());
    outbox = std::make_unique<Outbox>(OutboxOptions{.stream = std::move(stream), .memory_batches = memory},
                                      std::move(*spool));
  }
  void push(std::uint64_t first, std::uint64_t last) {
    for (auto i = first; i <= last; ++i) outbox->push(make_batch("s1", i, i == 1 ? 0 : 2, 2));
  }

  TemporaryFolder folder;
  std::unique_ptr<Outbox> outbox;
};

std::vector<std::uint64_t> sequences(const std::optional<Parcel>& parcel) {
  std::vector<std::uint64_t> list;
  if (!parcel) return list;
  std::string_view rest = parcel->body;
  while (const auto bytes = take_framed(rest)) list.push_back(decode_batch(*bytes)->sequence);
  return list;
}

TEST(Outbox, KeepsBatchesUntilAcknowledged) {
  Fixture f;
  EXPECT_TRUE(f.outbox->empty());
  f.push(1, 3);
  EXPECT_THAT(sequences(f.outbox->next({})), ElementsAre(1, 2, 3));
  EXPECT_THAT(sequences(f.outbox->next({.batches = 1})), ElementsAre(1));
  f.outbox->acknowledge("s1", 2);
  const auto parcel = f.outbox->next({});
  EXPECT_THAT(sequences(parcel), ElementsAre(3));
  EXPECT_FALSE(parcel->spooled);
  f.outbox->acknowledge("s1", 3);
  EXPECT_TRUE(f.outbox->empty());
  EXPECT_EQ(f.outbox->counts().acknowledged, 3U);
}

TEST(Outbox, OverflowsIntoTheSpoolAndKeepsTheOrder) {
  Fixture f;
  f.push(1, 10);
  EXPECT_EQ(f.outbox->counts().in_memory, 4U);
  const auto first = f.outbox->next({});
  EXPECT_TRUE(first->spooled);
  EXPECT_THAT(sequences(first), ElementsAre(1, 2, 3, 4, 5, 6));
  f.outbox->acknowledge("s1", 6);
  EXPECT_THAT(sequences(f.outbox->next({})), ElementsAre(7, 8, 9, 10));
}

TEST(Outbox, WhatWentToTheSpoolWhileOnItsWayIsForgottenThere) {
  Fixture f;
  f.push(1, 4);
  const auto on_its_way = f.outbox->next({});
  f.push(5, 6);  // 1 and 2 go to the disk
  f.outbox->acknowledge("s1", on_its_way->last_sequence);
  EXPECT_THAT(sequences(f.outbox->next({})), ElementsAre(5, 6));
}

TEST(Outbox, BytesCountToo) {
  Fixture f(1000);
  f.push(1, 50);
  const auto some = f.outbox->next({.bytes = 200});
  EXPECT_GT(some->batches, 1U);
  EXPECT_LT(some->body.size(), 300U);
}

TEST(Outbox, NamesEverySeriesWhenAsked) {
  Fixture f;
  f.push(1, 2);
  f.outbox->acknowledge("s1", 1);
  const std::string plain = f.outbox->next({})->body;
  const std::string named = f.outbox->next({.name_all = true})->body;
  std::string_view rest_named = named;
  std::string_view rest_plain = plain;
  EXPECT_EQ(decode_batch(*take_framed(rest_named))->series.size(), 2U);
  EXPECT_TRUE(decode_batch(*take_framed(rest_plain))->series.empty());
}

TEST(Outbox, NamesEverySeriesOfWhatIsInTheSpoolToo) {
  Fixture f(1);
  f.push(1, 5);
  f.outbox->acknowledge("s1", 2);
  const std::string named = f.outbox->next({.name_all = true})->body;
  std::string_view rest = named;
  const auto first = decode_batch(*take_framed(rest));
  EXPECT_EQ(first->sequence, 3U);
  EXPECT_EQ(first->series.size(), 2U);
  EXPECT_TRUE(decode_batch(*take_framed(rest))->series.empty()) << "once is enough";
}

TEST(Outbox, WhatIsLeftGoesToTheSpoolForTheNextStart) {
  Fixture f(64);
  f.push(1, 3);
  f.outbox->spill();
  EXPECT_EQ(f.outbox->counts().in_memory, 0U);
  auto spool = Spool::open({.folder = f.folder.path()});
  Outbox next({.stream = "s2"}, std::move(*spool));
  next.push(make_batch("s2", 1, 0, 1));
  const auto old = next.next({});
  EXPECT_EQ(old->stream, "s1");
  EXPECT_THAT(sequences(old), ElementsAre(1, 2, 3));
  next.acknowledge("s2", 7);
  EXPECT_THAT(sequences(next.next({})), ElementsAre(1, 2, 3)) << "that was about another stream";
  next.acknowledge("s1", 3);
  EXPECT_TRUE(next.empty());
}

TEST(Outbox, WhatIsTooLargeToSendIsCounted) {
  const TemporaryFolder folder;
  auto spool = Spool::open({.folder = folder.path()});
  Outbox outbox({.stream = "s1", .largest_batch = 100}, std::move(*spool));
  outbox.push(make_batch("s1", 1, 0, 50));
  outbox.push(make_batch("s1", 2, 50, 50 + 1));
  EXPECT_EQ(outbox.counts().given_up, 2U);
  outbox.push({.stream = "s1", .sequence = 3});
  EXPECT_THAT(sequences(outbox.next({})), ElementsAre(3));
}

TEST(Outbox, WaitingEndsWithABatchOrAWakeUp) {
  Fixture f;
  std::thread pusher([&f] { f.push(1, 1); });
  EXPECT_TRUE(f.outbox->wait(std::chrono::steady_clock::now() + std::chrono::seconds(30)));
  pusher.join();
  f.outbox->acknowledge("s1", 1);
  std::thread waker([&f] { f.outbox->wake(); });
  EXPECT_FALSE(f.outbox->wait(std::chrono::steady_clock::now() + std::chrono::seconds(30)));
  waker.join();
}

}  // namespace
}  // namespace assay
