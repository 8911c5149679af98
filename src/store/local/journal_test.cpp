#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <random>

#include "bytes/crc32c.h"
#include "store/journal_recording.h"
#include "store/local/journal_frames.h"
#include "store/local/journal_reader.h"
#include "store/local/journal_writer.h"

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
    auto writer = JournalWriter::create(path_);
    ASSERT_TRUE(writer.ok());
    ASSERT_TRUE(writer->append_event(kTime, "e1").ok());
    const std::vector<SeriesPoint> points = {{1, 1, 0.5}, {2, 2, 0.25}};
    ASSERT_TRUE(writer->append_points(writer->open_series(kLoss, ""), points).ok());
    ASSERT_TRUE(writer->flush().ok());
    boundaries_.push_back(fs::file_size(path_));
    ASSERT_TRUE(writer->append_output(OutputStream::out, kTime, "out").ok());
    ASSERT_TRUE(writer->flush().ok());
    boundaries_.push_back(fs::file_size(path_));
    ASSERT_TRUE(writer->append_event(kTime, "e2").ok());
    ASSERT_TRUE(writer->flush().ok());
    boundaries_.push_back(fs::file_size(path_));
    ASSERT_TRUE(writer->finish().ok());
    bytes_ = read_file(path_).value_or("");
  }

  void put(std::string_view bytes) {
    // A file that is overwritten goes to the disk at once on some file systems, a new one does not.
    fs::remove(path_);
    std::ofstream(path_, std::ios::binary) << bytes;
  }

  JournalRecording read(JournalOwner owner = JournalOwner::finished, std::uint64_t from = 0) {
    JournalRecording recording;
    auto reader = JournalReader::open(path_, "journal");
    EXPECT_TRUE(reader.ok());
    const auto end = reader->read(from, owner, recording);
    EXPECT_TRUE(end.ok());
    stopped_at_ = *end;
    return recording;
  }

  TemporaryFolder folder_;
  fs::path path_ = folder_.path() / "journal";
  std::string bytes_;
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

TEST_F(JournalTest, AnExistingJournalIsNotOverwritten) {
  write_small_journal();
  const auto again = JournalWriter::create(path_);
  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.error().kind, ErrorKind::busy);
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
  const auto other = folder_.path() / "other";
  auto writer = JournalWriter::create(other);
  ASSERT_TRUE(writer.ok());
  ASSERT_TRUE(writer->append_output(OutputStream::out, kTime, bytes_).ok());
  ASSERT_TRUE(writer->finish().ok());
  // The frame around the printed journal is damaged, so that the reader searches inside it.
  auto text = read_file(other).value_or("");
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
  auto writer = JournalWriter::create(path_);
  ASSERT_TRUE(writer.ok());
  std::string output(5'000'000, 'x');
  for (std::size_t i = 0; i < output.size(); i += 100) output[i] = '\n';
  ASSERT_TRUE(writer->append_output(OutputStream::error, kTime, output).ok());
  for (int round = 0; round < 3; ++round) {
    for (int n = 0; n < 300; ++n) {
      const auto handle = writer->open_series({"s" + std::to_string(n), {{"gpu", std::string(600, 'g')}}}, "W");
      const SeriesPoint point{round, kNoStep, static_cast<double>(n)};
      ASSERT_TRUE(writer->append_points(handle, {&point, 1}).ok());
    }
    ASSERT_TRUE(writer->flush().ok());
  }
  ASSERT_TRUE(writer->finish().ok());
  auto recording = read();
  EXPECT_EQ(recording.output.at(OutputStream::error), output);
  EXPECT_EQ(recording.series.size(), 300U);
  EXPECT_THAT(recording.values({"s299", {{"gpu", std::string(600, 'g')}}}), ElementsAre(299, 299, 299));
  EXPECT_THAT(recording.damage, IsEmpty());
}

TEST_F(JournalTest, AnEventThatIsTooLongDoesNotStopTheJournal) {
  auto writer = JournalWriter::create(path_);
  ASSERT_TRUE(writer.ok());
  const auto refused = writer->append_event(kTime, std::string(kMaxPayload, 'x'));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, ErrorKind::usage);
  ASSERT_TRUE(writer->append_event(kTime, std::string(kMaxPayload - 8, 'x')).ok());
  ASSERT_TRUE(writer->finish().ok());
  const auto recording = read();
  ASSERT_EQ(recording.events.size(), 1U);
  EXPECT_EQ(recording.events[0].text.size(), kMaxPayload - 8);
  EXPECT_THAT(recording.damage, IsEmpty());
}

/// Files of this process cannot grow beyond `bytes` while it lives: what a full disk looks like to a writer.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    handler_ = std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  rlimit before_{};
  void (*handler_)(int) = nullptr;
};

TEST_F(JournalTest, AFullDiskKeepsWholeFramesAndTheErrorSticks) {
  auto writer = JournalWriter::create(path_);
  ASSERT_TRUE(writer.ok());
  std::size_t appended = 0;
  {
    const FileSizeLimit limit(1000);
    Result<void> result;
    while (result.ok() && appended < 1000) {
      ++appended;
      result = writer->append_event(kTime, "event");
      if (result.ok() && appended % 30 == 0) result = writer->flush();
    }
    ASSERT_FALSE(result.ok());
    EXPECT_THAT(result.error().text(), HasSubstr("cannot write the journal"));
  }
  // There is room again, but what came in between is lost: the error stays.
  EXPECT_FALSE(writer->append_event(kTime, "later").ok());
  EXPECT_FALSE(writer->flush().ok());
  EXPECT_FALSE(writer->finish().ok());
  const auto recording = read(JournalOwner::gone);
  EXPECT_EQ(recording.events.size(), 1000 / 26);  // header 13, time 8, text 5
  EXPECT_THAT(recording.damage, IsEmpty());
  EXPECT_EQ(fs::file_size(path_), recording.events.size() * 26);
}

}  // namespace
}  // namespace assay
