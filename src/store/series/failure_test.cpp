#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <fstream>

#include "store/series/embedded_series_store.h"
#include "store/series/head_log.h"
#include "store/series/store_fixture.h"

namespace assay {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

/// No file may grow beyond this while it lives: every write fails as on a full disk. Readers must have read before:
/// SQLite cannot share memory with a new connection under such a limit.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(std::size_t bytes) {
    std::signal(SIGXFSZ, SIG_IGN);
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;
  ~FileSizeLimit() { ::setrlimit(RLIMIT_FSIZE, &before_); }

 private:
  rlimit before_{};
};

class FailureTest : public SeriesStoreTest {
 protected:
  static void flip(const fs::path& path, std::uint64_t at, std::uint8_t mask) {
    std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
    file.seekg(static_cast<std::streamoff>(at));
    const auto byte = static_cast<char>(static_cast<std::uint8_t>(file.get()) ^ mask);
    file.seekp(static_cast<std::streamoff>(at));
    file.put(byte);
  }
};

TEST_F(FailureTest, AFullDiskRefusesABatchAndLosesNothing) {
  const auto id = intern("a");
  ExpectedSeries expected;
  append_seconds(id, kStart, 400, &expected);
  expect_same(expected, points(id));
  {
    const FileSizeLimit limit(1024);
    std::vector<SeriesSample> samples;
    for (int i = 0; i < 2000; ++i) samples.push_back({id, kStart + (1000 + i) * kSecondNs, 1.0 / (i + 3)});
    for (int attempt = 0; attempt < 3; ++attempt) {
      const auto outcome = store_->append(samples);
      ASSERT_FALSE(outcome.ok());
      EXPECT_EQ(outcome.error().kind, ErrorKind::io);
      EXPECT_THAT(outcome.error().text(), HasSubstr("writing the telemetry log"));
    }
    expect_same(expected, points(id));
  }
  append_seconds(id, kStart + 1000 * kSecondNs, 300, &expected);
  expect_same(expected, points(id));
  crash();
  expect_same(expected, points(id));
  EXPECT_THAT(store_->problems(), IsEmpty());
}

TEST_F(FailureTest, WhatCannotBeWrittenToChunksWaitsUntilItCan) {
  const auto id = intern("a");
  ExpectedSeries expected;
  append_seconds(id, kStart, 3000, &expected);
  expect_same(expected, points(id));
  {
    const FileSizeLimit limit(fs::file_size(folder_ / "series.db-wal"));
    const auto outcome = store_->maintain(clock_.wall());
    ASSERT_FALSE(outcome.ok());
    EXPECT_THAT(outcome.error().text(), HasSubstr("writing telemetry: SQLite"));
    EXPECT_FALSE(store_->flush().ok());
    expect_same(expected, points(id));
  }
  maintain();
  EXPECT_LT(store_->stats().head_points, 600U);
  expect_same(expected, points(id));
  crash();
  expect_same(expected, points(id));
}

TEST_F(FailureTest, AFullDiskDoesNotKeepLogFilesThatNobodyNeeds) {
  options_.log_file_bytes = 4 << 10;
  open();
  const auto id = intern("a");
  for (int part = 0; part < 20; ++part) append_seconds(id, kStart + part * kHourNs, 500);
  ASSERT_TRUE(store_->flush().ok());
  append_seconds(id, kStart + 20 * kHourNs, 600);
  ASSERT_GT(store_->stats().log_files, 3U);
  const FileSizeLimit limit(fs::file_size(folder_ / "series.db-wal"));
  const auto outcome = store_->maintain(clock_.wall());
  ASSERT_FALSE(outcome.ok());
  EXPECT_THAT(outcome.error().text(), HasSubstr("writing telemetry: SQLite"));
  EXPECT_LE(store_->stats().log_files, 2U);
  std::uintmax_t bytes = 0;
  const auto files = log_files(folder_);
  for (const auto& file : *files) bytes += fs::file_size(file.path);
  EXPECT_LE(bytes, 3U * options_.log_file_bytes);
}

TEST_F(FailureTest, WhatWasDeletedOnAFullDiskIsNotMissedAfterACrash) {
  options_.log_file_bytes = 4 << 10;
  open();
  const auto id = intern("a");
  for (int part = 0; part < 20; ++part) append_seconds(id, kStart + part * kHourNs, 500);
  ASSERT_TRUE(store_->flush().ok());
  append_seconds(id, kStart + 20 * kHourNs, 600);
  {
    const FileSizeLimit limit(fs::file_size(folder_ / "series.db-wal"));
    ASSERT_FALSE(store_->maintain(clock_.wall()).ok());
  }
  crash();
  EXPECT_THAT(store_->problems(), IsEmpty());
  EXPECT_EQ(points(intern("a")).size(), 20U * 500 + 600);
}

TEST_F(FailureTest, ALatePointOnAFullDiskIsAnErrorThatMayBeRepeated) {
  const auto id = intern("a");
  ExpectedSeries expected;
  append_seconds(id, kStart, 3000, &expected);
  ASSERT_TRUE(store_->flush().ok());
  expect_same(expected, points(id));
  const std::vector<SeriesSample> late = {{id, kStart + kSecondNs, 7}};
  const std::vector<SeriesSample> more = {{id, kStart + 4000 * kSecondNs, 8}};
  {
    const FileSizeLimit limit(fs::file_size(folder_ / "series.db-wal"));
    ASSERT_FALSE(store_->append(late).ok());
    expect_same(expected, points(id));
    EXPECT_TRUE(store_->append(more).ok());
  }
  expected.put(more[0].time_ns, more[0].value);
  EXPECT_TRUE(store_->append(late).ok());
  expected.put(late[0].time_ns, late[0].value);
  expect_same(expected, points(id));
  crash();
  expect_same(expected, points(id));
}

TEST_F(FailureTest, ADeletionThatFailedIsNotCarriedOutLater) {
  const auto id = intern("a");
  ExpectedSeries expected;
  append_seconds(id, kStart, 3000, &expected);
  ASSERT_TRUE(store_->flush().ok());
  {
    const FileSizeLimit limit(fs::file_size(folder_ / "series.db-wal"));
    ASSERT_FALSE(store_->erase({"a", {}}, {kStart, kStart + kHourNs * 2}).ok());
  }
  append_seconds(id, kStart + 3000 * kSecondNs, 2000, &expected);
  ASSERT_TRUE(store_->flush().ok());
  crash();
  expect_same(expected, points(id));
}

TEST_F(FailureTest, MemoryStaysBoundedWhileNothingCanBeWritten) {
  options_.max_head_bytes = 64 << 10;
  open();
  const auto id = intern("a");
  append_seconds(id, kStart, 10);
  maintain();
  ASSERT_TRUE(store_->flush().ok());
  const FileSizeLimit limit(fs::file_size(folder_ / "series.db-wal"));
  bool refused = false;
  for (int round = 1; round < 200 && !refused; ++round) {
    std::vector<SeriesSample> samples;
    for (int i = 0; i < 500; ++i) samples.push_back({id, kStart + (round * 500 + i) * kSecondNs, 1.0 / (i + 3)});
    const auto outcome = store_->append(samples);
    // Small log files would fail first; either way it is refused, and says why.
    refused = !outcome.ok();
    ASSERT_LT(store_->stats().head_bytes, 1U << 20);
  }
  EXPECT_TRUE(refused);
}

TEST_F(FailureTest, RecoversOnARealDiskThatWasFull) {
  const auto mounted = temporary_.path() / "small";
  fs::create_directories(mounted);
  if (::mount("none", mounted.c_str(), "tmpfs", 0, "size=2500k") != 0) GTEST_SKIP() << "mounting needs root";
  store_.reset();
  folder_ = mounted / "telemetry";
  open();
  const auto id = intern("a");
  ExpectedSeries expected;
  std::ofstream(mounted / "ballast") << std::string(1'700'000, 'x');
  int full = 0;
  std::int64_t next = kStart;
  for (int round = 0; round < 400; ++round) {
    std::vector<SeriesSample> samples;
    for (int i = 0; i < 100; ++i)
      samples.push_back({id, next + i * kSecondNs, static_cast<double>(random_() % 999) / 3});
    if (store_->append(samples).ok()) {
      for (const auto& sample : samples) expected.put(sample.time_ns, sample.value);
      next += 100 * kSecondNs;
    } else if (++full == 20) {
      // Reading goes on while nothing can be written.
      expect_same(expected, points(id));
      fs::remove(mounted / "ballast");
    }
    clock_.advance(std::chrono::seconds(2));
    const auto kept = store_->maintain(clock_.wall());
    if (!kept.ok()) {
      EXPECT_THAT(kept.error().text(), HasSubstr("full"));
    }
    if (full > 40) break;
  }
  EXPECT_GT(full, 0);
  expect_same(expected, points(id));
  open();
  expect_same(expected, points(intern("a")));
  store_.reset();
  ::umount2(mounted.c_str(), MNT_DETACH);
}

TEST_F(FailureTest, ADamagedChunkIsNamedAndTheRestIsRead) {
  const auto id = intern("a");
  ExpectedSeries expected;
  append_seconds(id, kStart, 5000, &expected);
  ASSERT_TRUE(store_->flush().ok());
  store_.reset();
  const auto bytes = read_file(folder_ / "series.db").value_or("");
  // A chunk holds the encoded times; find the blob by what is around: flip bytes until one chunk is hit.
  bool hit = false;
  for (std::size_t at = bytes.size() - 1; at > 8192 && !hit; at -= 97) {
    flip(folder_ / "series.db", at, 0x40);
    open();
    const auto answer = store_->points(intern("a"), {}, 100'000);
    ASSERT_TRUE(answer.ok()) << answer.error().text();
    if (!answer->problems.empty() && !answer->points.empty()) {
      hit = true;
      EXPECT_THAT(answer->problems[0], HasSubstr("cannot be read"));
      EXPECT_THAT(store_->problems(), Not(IsEmpty()));
      EXPECT_LT(answer->points.size(), 5000U);
      EXPECT_GT(answer->points.size(), 3000U);
    }
    store_.reset();
    flip(folder_ / "series.db", at, 0x40);
  }
  EXPECT_TRUE(hit);
}

/// Whatever byte of whatever file is wrong: no crash, no wrong value, and other work goes on.
TEST_F(FailureTest, DamageAnywhereNeverMakesAWrongValue) {
  std::vector<ExpectedSeries> expected(5);
  std::vector<SeriesId> ids;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    ids.push_back(intern("s" + std::to_string(i), {{"gpu", std::to_string(i)}}));
    append_seconds(ids[i], kStart, 1500, &expected[i]);
  }
  maintain();
  for (std::size_t i = 0; i < expected.size(); ++i) append_seconds(ids[i], kStart + kHourNs, 700, &expected[i]);
  ASSERT_TRUE(store_->maintain(clock_.wall()).ok());
  const auto healthy = crash_copy();
  store_.reset();
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(healthy)) {
    const auto name = entry.path().filename().string();
    if (name != "owner.lock" && !name.ends_with("-shm") && entry.file_size() > 0)
      files.push_back(entry.path().filename());
  }
  for (int round = 0; round < 60; ++round) {
    fs::remove_all(folder_);
    fs::copy(healthy, folder_, fs::copy_options::recursive);
    fs::remove(folder_ / "series.db-shm");
    const auto& file = files[static_cast<std::size_t>(round) % files.size()];
    for (int i = 0; i < 3; ++i)
      flip(folder_ / file, random_() % fs::file_size(folder_ / file), static_cast<std::uint8_t>(1 + random_() % 255));
    SCOPED_TRACE(file.string() + ", round " + std::to_string(round));
    auto opened = open_series_store(folder_, options_);
    if (!opened.ok()) {
      // A damaged version number cannot be told from a newer version.
      EXPECT_EQ(opened.error().kind, ErrorKind::unsupported) << opened.error().text();
      continue;
    }
    const auto& store = *opened;
    const auto listed = store->list({});
    ASSERT_TRUE(listed.ok());
    for (const auto& series : *listed) {
      const auto read = store->points(series.id, {}, 100'000);
      ASSERT_TRUE(read.ok()) << read.error().text();
      const auto& truth = expected.at(static_cast<std::size_t>(series.key.name.at(1) - '0')).points();
      for (const auto& point : read->points) {
        const auto found = truth.find(point.time_ns);
        ASSERT_TRUE(found != truth.end() && found->second == point.value) << series.key.name;
      }
    }
    const auto fresh = store->intern({"new", {}}, "W");
    ASSERT_TRUE(fresh.ok());
    const std::vector<SeriesSample> samples = {{*fresh, kStart, 1}};
    EXPECT_TRUE(store->append(samples).ok());
    EXPECT_EQ(store->points(*fresh, {}, 10)->points.size(), 1U);
  }
}

TEST_F(FailureTest, ALogThatACrashCutOffAnywhereGivesBackWhatIsWhole) {
  const auto id = intern("a");
  ExpectedSeries expected;
  for (int batch = 0; batch < 3; ++batch) append_seconds(id, kStart + batch * kMinuteNs, 2, &expected);
  const auto whole = crash_copy();
  store_.reset();
  const auto log = fs::path("head-00000001.log");
  const auto size = fs::file_size(whole / log);
  for (std::uintmax_t length = 0; length <= size; ++length) {
    fs::remove_all(folder_);
    fs::copy(whole, folder_, fs::copy_options::recursive);
    fs::resize_file(folder_ / log, length);
    // Twice: the second time it is no longer the newest file.
    for (int round = 0; round < (length % 5 == 0 ? 2 : 1); ++round) {
      auto opened = open_series_store(folder_, options_);
      ASSERT_TRUE(opened.ok()) << opened.error().text();
      const auto& store = *opened;
      ASSERT_THAT(store->problems(), IsEmpty()) << length;
      const auto again = store->intern({"a", {}}, "W");
      const auto read = store->points(*again, {}, 100);
      ASSERT_EQ(read->points.size() % 2, 0U);
      ASSERT_TRUE(length < size || read->points.size() == 6);
      for (const auto& point : read->points) ASSERT_EQ(expected.points().at(point.time_ns), point.value);
    }
  }
}

TEST_F(FailureTest, AFileThatIsNoDatabaseIsKeptAsideAndTheLogIsStillRead) {
  const auto id = intern("a");
  append_seconds(id, kStart, 300);
  store_.reset();
  std::ofstream(folder_ / "series.db", std::ios::trunc) << std::string(20'000, 'x');
  fs::remove(folder_ / "series.db-wal");
  open();
  EXPECT_EQ(points(intern("a")).size(), 300U);
  ASSERT_THAT(store_->problems(), testing::SizeIs(1));
  EXPECT_THAT(store_->problems()[0], HasSubstr("was kept as series.db.damaged-"));
}

}  // namespace
}  // namespace assay
