#include "leader/run_copies.h"

#include "leader/leader_fixture.h"

namespace assay {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class RunCopiesTest : public testing::Test {
 protected:
  RunCopies::Outcome append(const std::string& file, std::uint64_t offset, std::string_view bytes) {
    const auto outcome = copies_.append("gpu01", "r-1", file, offset, bytes);
    EXPECT_TRUE(outcome.ok()) << outcome.error().text();
    return outcome ? *outcome : RunCopies::Outcome{};
  }
  std::string content(const std::string& file) const { return read_file(published_at_ / file).value_or("(absent)"); }

  TemporaryFolder folder_;
  const fs::path published_at_ = folder_.path() / "published";
  std::vector<std::string> published_;
  std::optional<Error> failure_;  ///< of the next hand-over
  RunCopies copies_{folder_.path() / "incoming", [this](const std::string& run, const fs::path& copy) -> Result<void> {
                      if (failure_) return *std::exchange(failure_, std::nullopt);
                      if (fs::exists(published_at_)) return Error{.kind = ErrorKind::busy, .message = "there already"};
                      published_.push_back(run);
                      fs::rename(copy, published_at_);
                      return {};
                    }};
};

TEST_F(RunCopiesTest, FilesGrowAndAreHandedOverWithRunJson) {
  EXPECT_EQ(append("log.txt", 0, "hello ").size, 6u);
  EXPECT_EQ(append("log.txt", 6, "world").size, 11u);
  EXPECT_TRUE(append("nodes/gpu01/series.bin", 0, std::string(3, '\0')).taken);
  EXPECT_THAT(published_, IsEmpty());
  EXPECT_EQ(append("run.json", 0, R"({"id": )").size, 7u);
  EXPECT_THAT(published_, IsEmpty()) << "it is not complete yet";
  append("run.json", 7, R"("r-1"})");
  EXPECT_THAT(published_, ElementsAre("r-1"));
  EXPECT_EQ(content("log.txt"), "hello world");
  EXPECT_EQ(content("nodes/gpu01/series.bin"), std::string(3, '\0'));
}

TEST_F(RunCopiesTest, AnOffsetThatIsNotTheEndIsToldTheEnd) {
  append("log.txt", 0, "hello");
  for (const std::uint64_t offset : {std::uint64_t{0}, std::uint64_t{4}, std::uint64_t{6}, UINT64_MAX}) {
    const auto outcome = append("log.txt", offset, "again");
    EXPECT_FALSE(outcome.taken);
    EXPECT_EQ(outcome.size, 5u);
  }
  EXPECT_TRUE(append("log.txt", 5, "").taken) << "nothing at the end is fine";
}

TEST_F(RunCopiesTest, NamesCannotLeadOutOfTheFolder) {
  for (const std::string name : {"", ".", "..", "../x", "a/../b", "/etc/passwd", "a//b", "a/", ".hidden", "a/.hidden",
                                 "a\\b", "a b", "a\nb", "a/b/c/d/e", "a\xff"}) {
    const auto outcome = copies_.append("gpu01", "r-1", name, 0, "x");
    ASSERT_FALSE(outcome.ok()) << name;
    EXPECT_EQ(outcome.error().kind, ErrorKind::usage) << name;
  }
  EXPECT_FALSE(copies_.append("gpu01", "r-1", std::string("a\0b", 3), 0, "x").ok());
  EXPECT_FALSE(copies_.append("gpu01", "r-1", std::string(200, 'x'), 0, "x").ok());
  for (const std::string run : {"", "..", "a/b", ".x", "/"}) {
    EXPECT_FALSE(copies_.append("gpu01", run, "log.txt", 0, "x").ok()) << run;
  }
  EXPECT_FALSE(fs::exists(folder_.path() / "incoming"));
}

TEST_F(RunCopiesTest, ALinkIsNotFollowed) {
  append("log.txt", 0, "x");
  fs::create_symlink(folder_.path() / "elsewhere", folder_.path() / "incoming/gpu01/r-1/link");
  EXPECT_FALSE(copies_.append("gpu01", "r-1", "link", 0, "x").ok());
  EXPECT_FALSE(fs::exists(folder_.path() / "elsewhere"));
}

TEST_F(RunCopiesTest, NodesDoNotShareARun) {
  append("log.txt", 0, "mine");
  const auto other = copies_.append("gpu02", "r-1", "log.txt", 0, "theirs");
  ASSERT_TRUE(other.ok());
  EXPECT_EQ(other->size, 6u);
}

TEST_F(RunCopiesTest, AHandOverThatFailedIsTriedAgain) {
  append("log.txt", 0, "hello");
  failure_ = Error{.kind = ErrorKind::io, .message = "no space left"};
  const std::string record = R"({"id": "r-1"})";
  const auto failed = copies_.append("gpu01", "r-1", "run.json", 0, record);
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().kind, ErrorKind::io);
  // The agent knows nothing of the bytes that are there already and sends them again.
  const auto again = append("run.json", 0, record);
  EXPECT_EQ(again.size, record.size());
  EXPECT_THAT(published_, ElementsAre("r-1"));
}

TEST_F(RunCopiesTest, ARunThatWasHandedOverIsNotMadeAgain) {
  append("log.txt", 0, "hello");
  append("run.json", 0, "{}");
  // The answer was lost, and the agent sends the last piece once more.
  const auto again = copies_.append("gpu01", "r-1", "run.json", 0, "{}");
  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.error().kind, ErrorKind::busy);
  EXPECT_THAT(published_, ElementsAre("r-1"));
  EXPECT_EQ(content("log.txt"), "hello");
}

}  // namespace
}  // namespace assay
