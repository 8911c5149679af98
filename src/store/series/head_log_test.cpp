#include "store/series/head_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>

#include "base/files.h"

namespace assay {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

struct Recorded final : LogVisitor {
  Result<void> on_series(SeriesId id, const SeriesKey& key, std::string_view unit) override {
    series.push_back({id, key, std::string(unit)});
    return {};
  }
  Result<void> on_samples(std::span<const SeriesSample> more) override {
    samples.insert(samples.end(), more.begin(), more.end());
    return {};
  }
  Result<void> on_late(std::uint64_t number, std::span<const SeriesSample> more) override {
    changes.push_back(number);
    late.insert(late.end(), more.begin(), more.end());
    return {};
  }
  Result<void> on_erase(std::uint64_t number, TimeRange range, std::span<const SeriesId> ids) override {
    changes.push_back(number);
    erased.push_back(range);
    forgotten.insert(forgotten.end(), ids.begin(), ids.end());
    return {};
  }
  Result<void> on_forget(std::uint64_t number, std::span<const SeriesId> ids) override {
    changes.push_back(number);
    forgotten.insert(forgotten.end(), ids.begin(), ids.end());
    return {};
  }
  void on_damage(std::string what) override { damage.push_back(std::move(what)); }

  std::vector<SeriesInfo> series;
  std::vector<SeriesSample> samples;
  std::vector<SeriesSample> late;
  std::vector<std::uint64_t> changes;
  std::vector<TimeRange> erased;
  std::vector<SeriesId> forgotten;
  std::vector<std::string> damage;
};

class HeadLogTest : public testing::Test {
 protected:
  HeadLogWriter create(std::uint32_t number = 1) {
    auto writer = HeadLogWriter::create(folder_.path(), number, 1 << 20);
    EXPECT_TRUE(writer.ok()) << writer.error().text();
    return std::move(writer).value();
  }

  std::string bytes_of(std::uint32_t number) { return read_file(log_file_path(folder_.path(), number)).value_or(""); }

  static Recorded read(std::string_view bytes, std::uint32_t number = 1, bool newest = true) {
    Recorded recorded;
    EXPECT_TRUE(read_log(bytes, {number, "head.log"}, newest, recorded).ok());
    return recorded;
  }

  /// A log of several frames of each kind.
  std::string log_of_everything() {
    auto writer = create();
    writer.add_series(1, {"gpu.power_w", {{"gpu", "GPU-1"}, {"node", "n1"}}}, "W");
    writer.add_series(2, {"host.cpu_util", {}}, "%");
    writer.add_samples(std::vector<SeriesSample>{{1, 1000, 345.5}, {2, 1000, 12}, {1, 2000, 1.0 / 3}});
    EXPECT_TRUE(writer.commit().ok());
    writer.add_late(7, std::vector<SeriesSample>{{2, 5, -1.25}});
    writer.add_erase(8, {100, 200}, std::vector<SeriesId>{1, 2});
    writer.add_forget(9, std::vector<SeriesId>{2});
    writer.add_samples(std::vector<SeriesSample>{{1, 3000, 1}, {1, 4000, 2}});
    EXPECT_TRUE(writer.commit().ok());
    return bytes_of(1);
  }

  TemporaryFolder folder_;
};

TEST_F(HeadLogTest, EverythingComesBackInOrder) {
  const auto recorded = read(log_of_everything());
  ASSERT_THAT(recorded.series, SizeIs(2));
  EXPECT_EQ(recorded.series[0].key.labels.at("gpu"), "GPU-1");
  EXPECT_EQ(recorded.series[1].unit, "%");
  ASSERT_THAT(recorded.samples, SizeIs(5));
  EXPECT_EQ(recorded.samples[2].value, 1.0 / 3);
  EXPECT_EQ(recorded.late[0].value, -1.25);
  EXPECT_THAT(recorded.changes, testing::ElementsAre(7, 8, 9));
  EXPECT_EQ(recorded.erased[0].to_ns, 200);
  EXPECT_THAT(recorded.damage, IsEmpty());
}

TEST_F(HeadLogTest, EveryValueComesBackBitForBit) {
  std::mt19937_64 random(3);
  std::vector<SeriesSample> samples;
  for (int i = 0; i < 200'000; ++i) {
    const double value = i % 2 == 0 ? std::bit_cast<double>(random()) : static_cast<double>(random() % 100'000) / 1000;
    samples.push_back({static_cast<SeriesId>(random() % 100'000), static_cast<std::int64_t>(random() >> 2), value});
  }
  auto writer = create();
  writer.add_samples(samples);
  ASSERT_TRUE(writer.commit().ok());
  const auto recorded = read(bytes_of(1));
  ASSERT_EQ(recorded.samples.size(), samples.size());
  for (std::size_t i = 0; i < samples.size(); ++i) {
    ASSERT_EQ(recorded.samples[i].series, samples[i].series);
    ASSERT_EQ(recorded.samples[i].time_ns, samples[i].time_ns);
    ASSERT_EQ(std::bit_cast<std::uint64_t>(recorded.samples[i].value), std::bit_cast<std::uint64_t>(samples[i].value));
  }
}

TEST_F(HeadLogTest, CutAnywhereItKeepsTheWholeFramesBefore) {
  const auto bytes = log_of_everything();
  std::size_t most = 0;
  for (std::size_t length = 0; length <= bytes.size(); ++length) {
    const auto recorded = read(std::string_view(bytes).substr(0, length));
    // Cut off in the middle of a write is how a crash looks: nothing to report.
    ASSERT_THAT(recorded.damage, IsEmpty()) << length;
    const auto all = recorded.series.size() + recorded.samples.size() + recorded.changes.size();
    ASSERT_GE(all, most) << length;
    most = all;
    // In a file that is not the newest it is damage, unless nothing is missing.
    const auto older = read(std::string_view(bytes).substr(0, length), 1, false);
    ASSERT_LE(older.damage.size(), 1U);
  }
  EXPECT_EQ(most, 2U + 5U + 3U);
}

TEST_F(HeadLogTest, DamageAnywhereCostsOneFrameAndIsNamed) {
  const auto bytes = log_of_everything();
  const auto whole = read(bytes);
  std::mt19937_64 random(4);
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    auto damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ static_cast<char>(1 + random() % 255));
    const auto recorded = read(damaged, 1, false);
    ASSERT_THAT(recorded.damage, SizeIs(1)) << at;
    EXPECT_THAT(recorded.damage[0], HasSubstr("were skipped"));
    // One frame holds at most three samples here.
    ASSERT_GE(recorded.samples.size() + 3, whole.samples.size()) << at;
    ASSERT_GE(recorded.series.size() + recorded.changes.size() + 1, whole.series.size() + whole.changes.size()) << at;
    for (const auto& sample : recorded.samples) {
      ASSERT_TRUE(std::any_of(whole.samples.begin(), whole.samples.end(), [&](const SeriesSample& other) {
        return other.series == sample.series && other.time_ns == sample.time_ns && other.value == sample.value;
      }));
    }
  }
}

TEST_F(HeadLogTest, FramesOfAnotherFileAreNotBelieved) {
  const auto recorded = read(log_of_everything(), 2, false);
  EXPECT_THAT(recorded.samples, IsEmpty());
  EXPECT_THAT(recorded.damage, SizeIs(1));
}

TEST_F(HeadLogTest, RotatesAndListsItsFiles) {
  auto writer = create(41);
  writer.add_samples(std::vector<SeriesSample>{{1, 1, 1}});
  ASSERT_TRUE(writer.commit().ok());
  ASSERT_TRUE(writer.rotate().ok());
  writer.add_samples(std::vector<SeriesSample>{{1, 2, 2}});
  ASSERT_TRUE(writer.commit().ok());
  ASSERT_TRUE(write_file_atomically(folder_.path() / "head-x.log", "").ok());
  const auto files = log_files(folder_.path());
  ASSERT_TRUE(files.ok());
  ASSERT_THAT(*files, SizeIs(2));
  EXPECT_EQ((*files)[0].number, 41U);
  EXPECT_EQ((*files)[1].number, 42U);
  EXPECT_EQ(read(bytes_of(42), 42).samples.at(0).time_ns, 2);
}

}  // namespace
}  // namespace assay
