#include "agent/spool.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <random>

namespace assay {
namespace {

using testing::ElementsAre;

SeriesName name(int number) {
  return {.key = {.name = "test.series_" + std::to_string(number), .labels = {{"gpu", "GPU-1"}}}, .unit = "W"};
}

std::string encoded(std::uint64_t sequence, std::uint32_t first, std::size_t names, std::size_t samples = 1) {
  Batch batch{.stream = "s1", .sequence = sequence, .first_series = first};
  for (std::size_t i = 0; i < names; ++i) batch.series.push_back(name(static_cast<int>(first + i)));
  for (std::size_t i = 0; i < samples; ++i) {
    // Values that do not shrink, so that sizes are known.
    batch.samples.push_back(
        {.series = 0, .time_ns = static_cast<std::int64_t>(i), .value = 0.1 + 1e-13 * static_cast<double>(i)});
  }
  return encode_batch(batch);
}

WaitingBatch waiting(std::uint64_t sequence, std::size_t samples = 1) {
  return {.sequence = sequence, .bytes = encoded(sequence, 1, 0, samples)};
}

SpoolStream stream(const std::string& id = "s1") {
  return {.id = id, .simulated = false, .names = {name(0)}, .devices = {}};
}

std::vector<std::uint64_t> sequences(const std::optional<SpooledBatches>& found) {
  std::vector<std::uint64_t> list;
  if (found) {
    for (const auto& batch : found->batches) list.push_back(batch.sequence);
  }
  return list;
}

Spool open_spool(const fs::path& folder, std::int64_t limit = std::int64_t{256} << 20) {
  auto spool = Spool::open({.folder = folder, .limit = {limit}});
  EXPECT_TRUE(spool.ok());
  return std::move(*spool);
}

std::vector<fs::path> files_in(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder)) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

/// Everything, in order, a piece at a time.
std::vector<std::uint64_t> drain(Spool& spool, std::size_t piece = 1 << 20) {
  std::vector<std::uint64_t> all;
  while (const auto found = spool.read(piece)) {
    for (const auto& batch : found->batches) all.push_back(batch.sequence);
    spool.acknowledge(found->stream, found->batches.back().sequence);
  }
  return all;
}

TEST(Spool, GivesBackInOrderUntilAcknowledged) {
  const TemporaryFolder folder;
  Spool spool = open_spool(folder.path());
  EXPECT_TRUE(spool.empty());
  EXPECT_FALSE(spool.read(1000));
  for (std::uint64_t i = 1; i <= 3; ++i) spool.append(stream(), waiting(i));
  EXPECT_THAT(sequences(spool.read(1 << 20)), ElementsAre(1, 2, 3));
  EXPECT_THAT(sequences(spool.read(1)), ElementsAre(1)) << "at least one, however large";
  EXPECT_EQ(spool.acknowledge("s1", 2), 2U);
  EXPECT_THAT(sequences(spool.read(1 << 20)), ElementsAre(3));
  EXPECT_EQ(spool.acknowledge("other", 3), 0U);
  EXPECT_EQ(spool.acknowledge("s1", 3), 1U);
  EXPECT_TRUE(spool.empty());
  EXPECT_TRUE(files_in(folder.path()).empty()) << "what was acknowledged takes no room";
  EXPECT_EQ(spool.bytes(), 0U);
}

TEST(Spool, GoesOnAfterItWasEmptied) {
  const TemporaryFolder folder;
  Spool spool = open_spool(folder.path());
  spool.append(stream(), waiting(1));
  spool.acknowledge("s1", 1);
  spool.append(stream(), waiting(2));
  EXPECT_THAT(sequences(spool.read(1 << 20)), ElementsAre(2));
}

TEST(Spool, WhatIsAppendedWhileReadingIsFound) {
  const TemporaryFolder folder;
  Spool spool = open_spool(folder.path());
  spool.append(stream(), waiting(1));
  EXPECT_THAT(sequences(spool.read(1 << 20)), ElementsAre(1));
  spool.append(stream(), waiting(2));
  EXPECT_EQ(spool.acknowledge("s1", 1), 1U);
  EXPECT_THAT(sequences(spool.read(1 << 20)), ElementsAre(2));
}

TEST(Spool, TheNextProcessFindsIt) {
  const TemporaryFolder folder;
  {
    Spool killed = open_spool(folder.path());
    SpoolStream first = stream();
    first.simulated = true;
    first.devices = std::vector<DeviceFacts>{{.id = "GPU-1", .facts = {{"name", "H200"}}}};
    for (std::uint64_t i = 1; i <= 3; ++i) killed.append(first, waiting(i));
  }
  Spool spool = open_spool(folder.path());
  spool.append(stream("s2"), waiting(1));
  const auto found = spool.read(1 << 20);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->stream, "s1");
  EXPECT_TRUE(found->simulated);
  EXPECT_THAT(sequences(found), ElementsAre(1, 2, 3)) << "one stream at a time";
  EXPECT_EQ(spool.stream_at_front().devices->front().id, "GPU-1");
  spool.acknowledge("s1", 3);
  EXPECT_EQ(spool.read(1 << 20)->stream, "s2");
  EXPECT_FALSE(spool.read(1 << 20)->simulated);
}

TEST(Spool, KnowsEveryNameBeforeTheFirstThatWaits) {
  const TemporaryFolder folder;
  Spool spool = open_spool(folder.path());
  spool.append(stream(), {.sequence = 1, .bytes = encoded(1, 1, 2)});
  spool.append(stream(), {.sequence = 2, .bytes = encoded(2, 3, 1)});
  spool.append(stream(), {.sequence = 3, .bytes = encoded(3, 4, 0)});
  EXPECT_THAT(spool.stream_at_front().names, ElementsAre(name(0)));
  spool.acknowledge("s1", 2);
  EXPECT_THAT(spool.stream_at_front().names, ElementsAre(name(0), name(1), name(2), name(3)));
  const auto all = decode_batch(with_all_names(spool.read(1)->batches.front().bytes, spool.stream_at_front()));
  ASSERT_TRUE(all.ok());
  EXPECT_EQ(all->first_series, 0U);
  EXPECT_EQ(all->series.size(), 4U);
  EXPECT_EQ(all->sequence, 3U);
  EXPECT_EQ(all->samples.size(), 1U);
}

TEST(Spool, TheOldestMakeRoomForTheNewest) {
  const TemporaryFolder folder;
  Spool spool = open_spool(folder.path(), 1 << 20);
  constexpr std::uint64_t kBatches = 400;
  for (std::uint64_t i = 1; i <= kBatches; ++i) spool.append(stream(), waiting(i, 1000));
  EXPECT_LE(spool.bytes(), std::uint64_t{1} << 20);
  const auto overflowed = spool.counts().overflowed;
  EXPECT_GT(overflowed, 0U);
  const auto left = drain(spool);
  ASSERT_FALSE(left.empty());
  EXPECT_EQ(left.size() + overflowed, kBatches) << "none is lost uncounted";
  EXPECT_EQ(left.back(), kBatches);
  for (std::size_t i = 1; i < left.size(); ++i) EXPECT_EQ(left[i], left[i - 1] + 1);
  EXPECT_TRUE(files_in(folder.path()).empty());
}

TEST(Spool, BackfillTakesManyAtATime) {
  const TemporaryFolder folder;
  Spool spool = open_spool(folder.path());
  for (std::uint64_t i = 1; i <= 2000; ++i) spool.append(stream(), waiting(i, 100));
  EXPECT_GT(spool.read(1 << 20)->batches.size(), 300U);
  EXPECT_EQ(drain(spool).size(), 2000U);
}

TEST(Spool, ATornTailCostsTheLastBatchOnly) {
  const TemporaryFolder folder;
  {
    Spool killed = open_spool(folder.path());
    for (std::uint64_t i = 1; i <= 5; ++i) killed.append(stream(), waiting(i, 50));
  }
  const auto file = files_in(folder.path()).front();
  fs::resize_file(file, fs::file_size(file) - 7);
  Spool spool = open_spool(folder.path());
  spool.append(stream("s2"), waiting(1));
  EXPECT_THAT(drain(spool), ElementsAre(1, 2, 3, 4, 1));
}

TEST(Spool, DamageInTheMiddleCostsWhatItHit) {
  const TemporaryFolder folder;
  {
    Spool killed = open_spool(folder.path());
    for (std::uint64_t i = 1; i <= 50; ++i) killed.append(stream(), waiting(i, 50));
  }
  const auto file = files_in(folder.path()).front();
  auto bytes = *read_file(file);
  bytes[bytes.size() / 2] ^= 0x55;
  ASSERT_TRUE(write_file_atomically(file, bytes).ok());
  Spool spool = open_spool(folder.path());
  EXPECT_EQ(drain(spool).size(), 49U);
}

TEST(Spool, WhateverIsDamagedItNeverGetsStuck) {
  std::mt19937 random(7);
  for (int round = 0; round < 60; ++round) {
    const TemporaryFolder folder;
    {
      Spool killed = open_spool(folder.path(), 1 << 20);
      for (std::uint64_t i = 1; i <= 60; ++i) killed.append(stream(), waiting(i, 200));
    }
    for (const auto& file : files_in(folder.path())) {
      auto bytes = *read_file(file);
      for (int i = 0; i < 4; ++i) bytes[random() % bytes.size()] = static_cast<char>(random());
      bytes.resize(bytes.size() - random() % (bytes.size() / 2));
      ASSERT_TRUE(write_file_atomically(file, bytes).ok());
    }
    Spool spool = open_spool(folder.path(), 1 << 20);
    const auto left = drain(spool, 4096);
    EXPECT_TRUE(std::is_sorted(left.begin(), left.end()));
    EXPECT_TRUE(spool.empty());
    EXPECT_TRUE(files_in(folder.path()).empty());
  }
}

TEST(Spool, OtherFilesAreLeftAlone) {
  const TemporaryFolder folder;
  ASSERT_TRUE(write_file_atomically(folder.path() / "notes.txt", "mine").ok());
  ASSERT_TRUE(write_file_atomically(folder.path() / "spool-7.seg", "no").ok());
  Spool spool = open_spool(folder.path());
  EXPECT_TRUE(spool.empty());
  spool.append(stream(), waiting(1));
  drain(spool);
  EXPECT_EQ(files_in(folder.path()).size(), 2U);
}

TEST(Spool, AFullDiskIsCountedAndPasses) {
  const TemporaryFolder folder;
  Spool spool = open_spool(folder.path());
  spool.append(stream(), waiting(1));
  rlimit old{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &old), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{.rlim_cur = spool.bytes() + 10, .rlim_max = old.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  spool.append(stream(), waiting(2, 100));
  spool.append(stream(), waiting(3, 100));
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &old), 0);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(spool.counts().unwritten, 2U);
  spool.append(stream(), waiting(4));
  EXPECT_THAT(drain(spool), ElementsAre(1, 4));
}

TEST(Spool, AFolderThatVanishesIsNoEnd) {
  const TemporaryFolder folder;
  Spool spool = open_spool(folder.path() / "spool");
  fs::remove_all(folder.path() / "spool");
  spool.append(stream(), waiting(1));
  EXPECT_EQ(spool.counts().unwritten, 1U);
  ASSERT_TRUE(make_folders(folder.path() / "spool").ok());
  spool.append(stream(), waiting(2));
  EXPECT_THAT(drain(spool), ElementsAre(2));
}

}  // namespace
}  // namespace assay
