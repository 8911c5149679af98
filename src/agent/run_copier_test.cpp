#include "agent/run_copier.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/leader_fixture.h"

namespace assay {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using testing::UnorderedElementsAre;

class RunCopierTest : public testing::Test {
 protected:
  RunCopierTest() {
    client_ = std::move(*make_leader_client(access_, std::chrono::seconds(10)));
    copier_ = std::make_unique<RunCopier>(*client_, access_, "c1", folder_.path() / "runs");
  }
  void append(const std::string& file, std::string_view bytes) {
    const fs::path path = folder_.path() / "runs" / file;
    ASSERT_TRUE(make_folders(path.parent_path()).ok());
    const auto opened = open_file(path, O_WRONLY | O_CREAT | O_APPEND);
    ASSERT_TRUE(opened.ok() && write_all(opened->get(), bytes).ok());
  }
  std::map<std::string, std::string> files() {
    return leader_.look([](const FakeLeader::Seen& seen) { return seen.files; });
  }

  FakeLeader leader_;
  LeaderAccess access_ = leader_.access();
  TemporaryFolder folder_;
  std::unique_ptr<HttpClient> client_;
  std::unique_ptr<RunCopier> copier_;
};

TEST_F(RunCopierTest, NothingThereIsNothingToDo) {
  EXPECT_TRUE(copier_->copy(false).ok());
  EXPECT_TRUE(copier_->copy(true).ok());
  EXPECT_THAT(files(), IsEmpty());
}

TEST_F(RunCopierTest, JournalsAreCopiedAsTheyGrow) {
  append("r1/journal", "abc");
  append("r1/ranks/1.journal", "");
  append("r1/run.json", "{}");
  ASSERT_TRUE(copier_->copy(false).ok());
  EXPECT_THAT(files(), ElementsAre(Pair("r1/journal", "abc")));
  append("r1/journal", "def");
  append("r1/ranks/1.journal", "x");
  append("r2/journal", "second");
  ASSERT_TRUE(copier_->copy(false).ok());
  EXPECT_THAT(files(),
              ElementsAre(Pair("r1/journal", "abcdef"), Pair("r1/ranks/1.journal", "x"), Pair("r2/journal", "second")));
}

TEST_F(RunCopierTest, TheEndBringsWhatIsReplacedAsAWhole) {
  append("r1/journal", "abc");
  append("r1/run.json", "{}");
  append("r1/artifacts/a b.txt", "text");
  append("r1/artifacts/empty", "");
  append("r1/owner.lock", "pid 1");
  append("r1/change.lock", "");
  append("r1/ranks/1.lock", "no");
  ASSERT_TRUE(copier_->copy(true).ok());
  EXPECT_THAT(files(), UnorderedElementsAre(Pair("r1/journal", "abc"), Pair("r1/run.json", "{}"),
                                            Pair("r1/artifacts/a b.txt", "text"), Pair("r1/artifacts/empty", "")));
}

TEST_F(RunCopierTest, RunJsonComesLast) {
  append("r1/journal", "abc");
  append("r1/run.json", "{}");
  append("r1/artifacts/x", "text");
  EXPECT_EQ(recorded_files(folder_.path() / "runs/r1", true).back(), "run.json");
}

TEST_F(RunCopierTest, AnotherCopierGoesOnWhereTheFirstStopped) {
  append("r1/journal", std::string(700'000, 'a'));
  ASSERT_TRUE(copier_->copy(false).ok());
  append("r1/journal", std::string(700'000, 'b'));
  RunCopier second(*client_, access_, "c1", folder_.path() / "runs");
  ASSERT_TRUE(second.copy(true).ok());
  EXPECT_EQ(files().at("r1/journal"), std::string(700'000, 'a') + std::string(700'000, 'b'));
}

TEST_F(RunCopierTest, TroubleIsAnErrorAndCanBeTriedAgain) {
  append("r1/journal", "abc");
  leader_.go_away();
  EXPECT_FALSE(copier_->copy(false).ok());
  leader_.come_back();
  EXPECT_TRUE(copier_->copy(false).ok());
  EXPECT_EQ(files().at("r1/journal"), "abc");
}

TEST_F(RunCopierTest, AFileThatIsNotWantedDoesNotHoldUpTheOthers) {
  {
    const std::lock_guard lock(leader_.mutex);
    leader_.unwanted_file = "r1/artifacts/odd";
  }
  append("r1/journal", "abc");
  append("r1/artifacts/odd", "x");
  append("r1/run.json", "{}");
  ASSERT_TRUE(copier_->copy(true).ok());
  EXPECT_THAT(files(), ElementsAre(Pair("r1/journal", "abc"), Pair("r1/run.json", "{}")));
}

TEST_F(RunCopierTest, LinksAreNotFollowed) {
  append("r1/journal", "abc");
  ASSERT_TRUE(make_folders(folder_.path() / "runs/r1/artifacts").ok());
  fs::create_symlink("/etc/hostname", folder_.path() / "runs/r1/artifacts/secret");
  fs::create_directory_symlink("/etc", folder_.path() / "runs/r2");
  ASSERT_TRUE(copier_->copy(true).ok());
  EXPECT_THAT(files(), ElementsAre(Pair("r1/journal", "abc")));
}

TEST_F(RunCopierTest, ItIsCompleteWhenTheLeaderSaysSoOfEveryRun) {
  EXPECT_TRUE(copier_->complete()) << "there is none";
  append("r1/journal", "abc");
  append("r1/run.json", "{}");
  append("r2/journal", "def");
  append("r2/run.json", "{}");
  append(".new-x/journal", "a run that was never made");
  ASSERT_TRUE(copier_->copy(false).ok());
  EXPECT_FALSE(copier_->complete());
  {
    const std::lock_guard lock(leader_.mutex);
    leader_.unwanted_file = "r2/run.json";
  }
  ASSERT_TRUE(copier_->copy(true).ok());
  EXPECT_FALSE(copier_->complete());
  RunCopier second(*client_, access_, "c1", folder_.path() / "runs");
  {
    const std::lock_guard lock(leader_.mutex);
    leader_.unwanted_file.clear();
    leader_.seen.files.clear();
  }
  ASSERT_TRUE(second.copy(true).ok());
  EXPECT_TRUE(second.complete());
  EXPECT_THAT(leader_.look([](const FakeLeader::Seen& seen) { return seen.file_commands; }), ElementsAre("c1"));
}

TEST_F(RunCopierTest, NoTroubleOfTheLeaderIsARefusal) {
  append("r1/run.json", "{}");
  for (const int status : {429, 503, 500, 401, 403}) {
    {
      const std::lock_guard lock(leader_.mutex);
      leader_.record_troubles = {status};
    }
    EXPECT_FALSE(copier_->copy(true).ok()) << status;
    EXPECT_FALSE(copier_->complete()) << status;
  }
  EXPECT_TRUE(copier_->copy(true).ok());
  EXPECT_TRUE(copier_->complete());
}

}  // namespace
}  // namespace assay
