#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "bytes/crc32c.h"
#include "store/journal/journal_encoder.h"
#include "store/journal/journal_frames.h"
#include "store/journal/journal_reader.h"
#include "store/journal/journal_recording_fixture.h"

namespace assay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr WallTime kTime{std::chrono::seconds(1'700'000'000)};
const SeriesKey kLoss{"loss", {}};

TEST(Crc32c, KnownValues) {
  EXPECT_EQ(crc32c("123456789"), 0xE3069283U);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8A9136AAU);
  EXPECT_EQ(crc32c(""), 0U);
  EXPECT_EQ(crc32c("6789", crc32c("12345")), 0xE3069283U);
}

TEST(Crc32c, PortableFormAgrees) {
  std::mt19937 random(1);
  for (std::size_t length = 0; length < 200; ++length) {
    std::string bytes(length, '\0');
    for (auto& byte : bytes) byte = static_cast<char>(random());
    EXPECT_EQ(crc32c(bytes, 77), crc32c_portable(bytes, 77)) << length;
  }
}

class JournalTest : public testing::Test {
 protected:
  /// Event "e1", points 1 and 2, output "out", event "e2".
  void write_small_journal() {
    JournalEncoder encoder;
    ASSERT_TRUE(encoder.add_event(kTime, "e1").ok());
    const std::vector<SeriesPoint> points = {{1, 1, 0.5}, {2, 2, 0.25}};
    encoder.add_points(encoder.open_series(kLoss, ""), points);
    take(encoder);
    encoder.add_output(OutputStream::out, kTime, "out");
    take(encoder);
    ASSERT_TRUE(encoder.add_event(kTime, "e2").ok());
    take(encoder);
    encoder.add_end_mark();
    take(encoder);
    bytes_ = journal_;
  }

  void take(JournalEncoder& encoder) {
    encoder.close_chunks();
    EXPECT_EQ(encoder.offset(), journal_.size());
    journal_ += encoder.frames();
    encoder.drop_frames();
    boundaries_.push_back(journal_.size());
  }

  void put(std::string_view bytes) { journal_ = bytes; }

  JournalRecording read(JournalOwner owner = JournalOwner::finished, std::uint64_t from = 0) {
    JournalRecording recording;
    JournalInMemory bytes(journal_);
    const auto end = JournalReader(bytes, "journal").read(from, owner, recording);
    EXPECT_TRUE(end.ok());
    stopped_at_ = *end;
    return recording;
  }

  std::string journal_;
  std::string bytes_;  ///< the small one, whole
  std::vector<std::uint64_t> boundaries_;
  std::uint64_t stopped_at_ = 0;
};

TEST_F(JournalTest, WhatWasWrittenIsRead) {
  write_small_journal();
  const auto recording = read();
  ASSERT_EQ(recording.events.size(), 2U);
  EXPECT_EQ(recording.events[1].text, "e2");
  EXPECT_THAT(recording.values(kLoss), ElementsAre(0.5, 0.25));
  EXPECT_EQ(recording.output.at(OutputStream::out), "out");
  EXPECT_THAT(recording.damage, IsEmpty());
  EXPECT_EQ(stopped_at_, bytes_.size());
}

TEST_F(JournalTest, EveryTruncationKeepsTheWholeFramesBefore) {
  write_small_journal();
  for (std::size_t length = 0; length < bytes_.size(); ++length) {
    SCOPED_TRACE(length);
    put(std::string_view(bytes_).substr(0, length));
    for (const auto owner : {JournalOwner::live, JournalOwner::gone, JournalOwner::finished}) {
      const auto recording = read(owner);
      EXPECT_EQ(recording.values(kLoss).size(), length >= boundaries_[0] ? 2U : 0U);
      EXPECT_EQ(recording.output.size(), length >= boundaries_[1] ? 1U : 0U);
      EXPECT_EQ(recording.events.size() == 2, length >= boundaries_[2]);
      if (owner == JournalOwner::live) {
        EXPECT_THAT(recording.damage, IsEmpty());
      } else {
        EXPECT_EQ(stopped_at_, length);
      }
      if (owner == JournalOwner::finished) {
        EXPECT_THAT(recording.damage, testing::Not(IsEmpty()));
      }
    }
  }
}

TEST_F(JournalTest, AFollowerGoesOnWhenTheRestOfAFrameArrives) {
  write_small_journal();
  for (std::size_t cut = 0; cut <= bytes_.size(); ++cut) {
    SCOPED_TRACE(cut);
    put(std::string_view(bytes_).substr(0, cut));
    const auto first = read(JournalOwner::live);
    EXPECT_LE(stopped_at_, cut);
    put(bytes_);
    const auto second = read(JournalOwner::finished, stopped_at_);
    EXPECT_EQ(first.events.size() + second.events.size(), 2U);
    EXPECT_EQ(first.values(kLoss).size() + second.values(kLoss).size(), 2U);
    EXPECT_EQ(first.output.size() + second.output.size(), 1U);
    EXPECT_THAT(second.damage, IsEmpty());
  }
}

TEST_F(JournalTest, ADamagedByteCostsItsFrameOnly) {
  write_small_journal();
  enum Frame { event_1, definition, points, output, event_2, end };
  std::vector<int> frame_of;
  for (int frame = event_1; frame_of.size() < bytes_.size(); ++frame) {
    const auto length = look_at_header(std::string_view(bytes_).substr(frame_of.size())).length;
    frame_of.resize(frame_of.size() + kFrameHeader + length, frame);
  }
  ASSERT_EQ(frame_of.back(), end);
  for (std::size_t at = 0; at < bytes_.size(); ++at) {
    SCOPED_TRACE(at);
    auto damaged = bytes_;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x5A);
    put(damaged);
    const auto recording = read(JournalOwner::gone);
    const int hit = frame_of[at];
    EXPECT_EQ(recording.events.size(), hit == event_1 || hit == event_2 ? 1U : 2U);
    EXPECT_EQ(recording.values(kLoss).size(), hit == definition || hit == points ? 0U : 2U);
    EXPECT_EQ(recording.output.size(), hit == output ? 0U : 1U);
    // Points cannot be read without the definition of their series.
    EXPECT_THAT(recording.damage, testing::SizeIs(hit == definition ? 2 : 1));
    EXPECT_EQ(stopped_at_, bytes_.size());
  }
}

TEST_F(JournalTest, GarbageBetweenFramesIsSkippedAndNamed) {
  write_small_journal();
  auto damaged = bytes_;
  for (auto at = boundaries_[0]; at < boundaries_[1]; ++at) damaged[at] = '#';
  put(damaged);
  const auto recording = read();
  EXPECT_EQ(recording.events.size(), 2U);
  EXPECT_TRUE(recording.output.empty());
  ASSERT_EQ(recording.damage.size(), 1U);
  EXPECT_THAT(recording.damage[0], HasSubstr("journal: " + std::to_string(boundaries_[1] - boundaries_[0]) +
                                             " bytes at offset " + std::to_string(boundaries_[0])));
}

TEST_F(JournalTest, AMissingPartIsNoticed) {
  // Frames are valid at their own place only: with bytes cut out, nothing after the hole can be trusted.
  write_small_journal();
  put(bytes_.substr(0, boundaries_[0]) + bytes_.substr(boundaries_[1]));
  const auto recording = read();
  EXPECT_EQ(recording.events.size(), 1U);
  EXPECT_THAT(recording.damage, testing::Not(IsEmpty()));
}

TEST_F(JournalTest, AJournalInTheOutputPlantsNoFrames) {
  write_small_journal();
  JournalEncoder other;
  other.add_output(OutputStream::out, kTime, bytes_);
  other.add_end_mark();
  // The frame around the printed journal is damaged, so that the reader searches inside it.
  auto text = other.frames();
  text[4] = static_cast<char>(text[4] ^ 1);
  put(text);
  const auto recording = read(JournalOwner::gone);
  EXPECT_THAT(recording.events, IsEmpty());
  EXPECT_THAT(recording.series, IsEmpty());
  EXPECT_EQ(recording.damage.size(), 1U);
}

TEST_F(JournalTest, RandomDamageNeverCrashesTheReader) {
  write_small_journal();
  std::mt19937 random(5);
  for (int round = 0; round < 3000; ++round) {
    auto damaged = bytes_;
    for (auto changes = 1 + random() % 20; changes > 0; --changes) {
      damaged[random() % damaged.size()] = static_cast<char>(random());
    }
    put(damaged);
    read(round % 2 ? JournalOwner::gone : JournalOwner::live);
    EXPECT_LE(stopped_at_, damaged.size());
  }
}

TEST_F(JournalTest, AFrameOfANewerVersionIsNamedAndSkipped) {
  std::string bytes;
  begin_frame(bytes, static_cast<FrameKind>(99));
  bytes += "future";
  seal_frame(bytes, 0, 0);
  const auto start = bytes.size();
  begin_frame(bytes, FrameKind::end);
  seal_frame(bytes, start, start);
  put(bytes);
  const auto recording = read();
  ASSERT_EQ(recording.damage.size(), 1U);
  EXPECT_THAT(recording.damage[0], HasSubstr("this version of assay"));
  EXPECT_EQ(stopped_at_, bytes.size());
}

TEST_F(JournalTest, LongOutputAndManySeriesComeBackWhole) {
  JournalEncoder encoder;
  std::string output(5'000'000, 'x');
  for (std::size_t i = 0; i < output.size(); i += 100) output[i] = '\n';
  encoder.add_output(OutputStream::error, kTime, output);
  for (int round = 0; round < 3; ++round) {
    for (int n = 0; n < 300; ++n) {
      const auto handle = encoder.open_series({"s" + std::to_string(n), {{"gpu", std::string(600, 'g')}}}, "W");
      const SeriesPoint point{round, kNoStep, static_cast<double>(n)};
      encoder.add_points(handle, {&point, 1});
    }
    take(encoder);
  }
  encoder.add_end_mark();
  take(encoder);
  auto recording = read();
  EXPECT_EQ(recording.output.at(OutputStream::error), output);
  EXPECT_EQ(recording.series.size(), 300U);
  EXPECT_THAT(recording.values({"s299", {{"gpu", std::string(600, 'g')}}}), ElementsAre(299, 299, 299));
  EXPECT_THAT(recording.damage, IsEmpty());
}

TEST_F(JournalTest, SeriesThatAreNoLongerKnownAreLookedUpAgain) {
  // More than a reader keeps in memory, whatever somebody has defined.
  JournalEncoder encoder;
  const auto first = encoder.open_series(kLoss, "");
  encoder.add_points(first, std::vector<SeriesPoint>{{1, 1, 0.5}});
  take(encoder);
  for (int i = 0; i < 100'010; ++i) {
    encoder.add_points(encoder.open_series({"m" + std::to_string(i), {}}, ""), std::vector<SeriesPoint>{{1, 1, 1}});
  }
  take(encoder);
  encoder.add_points(first, std::vector<SeriesPoint>{{2, 2, 0.25}});
  encoder.add_end_mark();
  take(encoder);
  bytes_ = journal_;
  const auto recording = read();
  EXPECT_THAT(recording.damage, IsEmpty());
  EXPECT_THAT(recording.values(kLoss), ElementsAre(0.5, 0.25));
  EXPECT_THAT(recording.values({"m100009", {}}), ElementsAre(1));
}

TEST_F(JournalTest, AnEventThatIsTooLongDoesNotStopTheJournal) {
  JournalEncoder encoder;
  const auto refused = encoder.add_event(kTime, std::string(kMaxPayload, 'x'));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, ErrorKind::usage);
  ASSERT_TRUE(encoder.add_event(kTime, std::string(kMaxPayload - 8, 'x')).ok());
  encoder.add_end_mark();
  take(encoder);
  const auto recording = read();
  ASSERT_EQ(recording.events.size(), 1U);
  EXPECT_EQ(recording.events[0].text.size(), kMaxPayload - 8);
  EXPECT_THAT(recording.damage, IsEmpty());
}

TEST_F(JournalTest, OnlyWholeFramesAtTheirPlaceCount) {
  write_small_journal();
  EXPECT_EQ(whole_frames(bytes_, 0), bytes_.size());
  EXPECT_EQ(whole_frames(std::string_view(bytes_).substr(boundaries_[0]), boundaries_[0]),
            bytes_.size() - boundaries_[0]);
  EXPECT_EQ(whole_frames(std::string_view(bytes_).substr(0, boundaries_[1] - 1), 0), boundaries_[0]);
  EXPECT_EQ(whole_frames(bytes_, 1), 0U);
  EXPECT_EQ(whole_frames("", 0), 0U);
}

/// A journal of two groups, and where the first one ends.
struct Groups {
  std::string bytes;
  std::size_t first = 0;
};

Groups two_groups() {
  auto encoder = JournalEncoder::of_groups(0);
  const auto series = encoder.open_series(kLoss, "");
  Groups groups;
  for (const double value : {0.5, 0.25}) {
    const SeriesPoint point{1, 1, value};
    encoder.add_points(series, {&point, 1});
    encoder.add_output(OutputStream::out, kTime, value > 0.3 ? "one\n" : "two\n");
    EXPECT_TRUE(encoder.add_mark(value > 0.3 ? "{\"a\":1}" : "{\"a\":2}").ok());
    groups.bytes += encoder.frames();
    if (groups.first == 0) groups.first = groups.bytes.size();
    encoder.drop_frames();
  }
  return groups;
}

class MarkRecording final : public JournalVisitor {
 public:
  void on_points(const SeriesKey& key, std::string_view, std::span<const SeriesPoint> points) override {
    text += key.name + std::to_string(points.size());
  }
  void on_output(OutputStream, WallTime, std::string_view bytes) override { text += bytes; }
  void on_mark(std::string_view mark) override { text += mark; }
  std::string text;
};

TEST(JournalGroups, AGroupIsThereAsAWholeOrNotAtAll) {
  const auto groups = two_groups();
  for (std::size_t length = 0; length <= groups.bytes.size(); ++length) {
    const auto torn = groups.bytes.substr(0, length);
    JournalInMemory bytes(torn);
    MarkRecording seen;
    const auto whole = length < groups.first ? 0 : length < groups.bytes.size() ? groups.first : groups.bytes.size();
    for (const auto owner : {JournalOwner::live, JournalOwner::awaited}) {
      seen.text.clear();
      EXPECT_EQ(*JournalReader(bytes, "journal").read(0, owner, seen), whole);
      const std::string first = whole == 0 ? "" : "one\nloss1{\"a\":1}";
      EXPECT_EQ(seen.text, first + (whole == groups.bytes.size() ? "two\nloss1{\"a\":2}" : ""));
    }
    EXPECT_EQ(*JournalReader(bytes, "journal").end_of_groups(), whole);
    EXPECT_EQ(whole_frames(torn, 0), whole);
  }
}

TEST(JournalGroups, ReadingCanBeginAtTheSecond) {
  const auto groups = two_groups();
  JournalInMemory bytes(groups.bytes);
  MarkRecording seen;
  EXPECT_EQ(*JournalReader(bytes, "journal").read(groups.first, JournalOwner::live, seen), groups.bytes.size());
  EXPECT_EQ(seen.text, "two\nloss1{\"a\":2}") << "the series is defined in the first";
}

TEST(JournalGroups, DamageCostsItsGroupOnlyAndTheEndStaysWhereItIs) {
  auto groups = two_groups();
  groups.bytes[kFrameHeader + 2] ^= 1;
  JournalInMemory bytes(groups.bytes);
  EXPECT_EQ(*JournalReader(bytes, "journal").end_of_groups(), groups.bytes.size());
  JournalRecording seen;
  EXPECT_TRUE(JournalReader(bytes, "journal").read(0, JournalOwner::live, seen).ok());
  EXPECT_THAT(seen.damage, testing::Not(IsEmpty()));
}

TEST(JournalGroups, AGroupInAGroupIsNamedAndSkipped) {
  std::string inner;
  begin_frame(inner, FrameKind::group);
  seal_frame(inner, 0, kFrameHeader);
  std::string journal;
  begin_frame(journal, FrameKind::group);
  journal += inner;
  seal_frame(journal, 0, 0);
  JournalInMemory bytes(journal);
  JournalRecording seen;
  EXPECT_EQ(*JournalReader(bytes, "journal").read(0, JournalOwner::gone, seen), journal.size());
  EXPECT_THAT(seen.damage, ElementsAre(HasSubstr("a group of something else")));
}

TEST(JournalGroups, AGroupThatIsTooLongIsRefused) {
  auto encoder = JournalEncoder::of_groups(0);
  encoder.add_output(OutputStream::out, kTime, std::string(kMaxPayload, 'x'));
  EXPECT_EQ(encoder.add_mark("{}").error().kind, ErrorKind::usage);
}

}  // namespace
}  // namespace assay
