#include "leader/run_copies.h"

#include "leader/leader_fixture.h"
#include "model/run.h"

namespace assay {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr const char* kRun = "k3q8m2x7ab";
constexpr const char* kOther = "k3q8m2x7ac";

std::string record_of(const std::string& id) { return json::serialize(to_json(Run{.id = id, .kind = "null"})); }

class RunCopiesTest : public testing::Test {
 protected:
  RunCopiesTest() {
    start();
    EXPECT_TRUE(copies_->expect("c1", "gpu01").ok());
  }
  /// Makes the copies again, as after a restart of the leader.
  void start() {
    copies_ = std::make_unique<RunCopies>(
        incoming(), cluster_, clock_,
        [this](const std::string& run, const fs::path& copy) { return publish(run, copy); }, limits_);
  }
  Result<void> publish(const std::string& run, const fs::path& copy) {
    if (failure_) return *std::exchange(failure_, std::nullopt);
    published_.push_back(run);
    if (!fs::exists(published_at_)) fs::rename(copy, published_at_);
    return {};
  }
  Result<RunCopies::Outcome> send(const RunPiece& piece) { return copies_->append(piece); }
  Result<RunCopies::Outcome> send(std::string_view file, std::string_view bytes, std::string_view run = kRun) {
    return send({.node = "gpu01", .command = "c1", .run = run, .file = file, .bytes = bytes});
  }
  RunCopies::Outcome append(std::string_view file, std::uint64_t offset, std::string_view bytes) {
    const auto outcome =
        send({.node = "gpu01", .command = "c1", .run = kRun, .file = file, .offset = offset, .bytes = bytes});
    EXPECT_TRUE(outcome.ok()) << outcome.error().text();
    return outcome ? *outcome : RunCopies::Outcome{};
  }
  ErrorKind refusal(const Result<RunCopies::Outcome>& outcome) {
    EXPECT_FALSE(outcome.ok());
    return outcome ? ErrorKind::crash : outcome.error().kind;
  }
  std::string content(const std::string& file) const { return read_file(published_at_ / file).value_or("(absent)"); }
  fs::path incoming() const { return folder_.path() / "incoming"; }

  TemporaryFolder folder_;
  ManualClock clock_;
  RunCopies::Limits limits_;
  const fs::path published_at_ = folder_.path() / "published";
  std::vector<std::string> published_;
  std::optional<Error> failure_;  ///< of the next hand-over
  ClusterMemory cluster_;
  std::unique_ptr<RunCopies> copies_;
};

TEST_F(RunCopiesTest, FilesGrowAndAreHandedOverWithRunJson) {
  EXPECT_EQ(append("journal", 0, "hello ").size, 6u);
  EXPECT_EQ(append("journal", 6, "world").size, 11u);
  EXPECT_TRUE(append("ranks/rank-1.journal", 0, std::string(3, '\0')).taken);
  EXPECT_TRUE(append("artifacts/a plan (2).txt", 0, "as people name files").taken);
  const std::string record = record_of(kRun);
  EXPECT_FALSE(append("run.json", 0, record.substr(0, 7)).complete);
  EXPECT_THAT(published_, IsEmpty()) << "it is not complete yet";
  EXPECT_TRUE(append("run.json", 7, record.substr(7)).complete);
  EXPECT_THAT(published_, ElementsAre(kRun));
  EXPECT_EQ(content("journal"), "hello world");
  EXPECT_EQ(content("ranks/rank-1.journal"), std::string(3, '\0'));
  EXPECT_EQ(content("artifacts/a plan (2).txt"), "as people name files");
}

TEST_F(RunCopiesTest, AnOffsetThatIsNotTheEndIsToldTheEnd) {
  append("journal", 0, "hello");
  for (const std::uint64_t offset : {0, 4, 6}) {
    const auto outcome = append("journal", offset, "again");
    EXPECT_FALSE(outcome.taken);
    EXPECT_EQ(outcome.size, 5u);
  }
  EXPECT_TRUE(append("journal", 5, "").taken) << "nothing at the end is fine";
}

TEST_F(RunCopiesTest, OnlyTheFilesOfARunAreTaken) {
  for (const std::string& name : std::vector<std::string>{
           "", ".", "..", "../x", "artifacts/../b", "/etc/passwd", "artifacts//b", "artifacts/", ".hidden",
           "artifacts/.hidden", "artifacts/a\nb", "artifacts/a/b", "run.json/x", "journal/x", "owner.lock",
           "ranks/1.lock", "artifacts/" + std::string(200, 'x'), std::string("artifacts/a\0b", 13)}) {
    EXPECT_EQ(refusal(send(name, "x")), ErrorKind::usage) << name;
  }
  EXPECT_FALSE(fs::exists(incoming()));
}

TEST_F(RunCopiesTest, OnlyIdsOfOursAreRuns) {
  for (const std::string run :
       {"", "..", "a/b", ".x", "/", "@last", "-rf", "tag:x", "r-1", "k3q8m2x7a", "K3Q8M2X7AB", "@last12345"}) {
    EXPECT_EQ(refusal(send("journal", "x", run)), ErrorKind::usage) << run;
  }
  EXPECT_FALSE(fs::exists(incoming()));
}

TEST_F(RunCopiesTest, OnlyWhatANodeWasAskedForIsTaken) {
  const RunPiece piece{.node = "gpu01", .command = "c1", .run = kRun, .file = "journal", .bytes = "x"};
  RunPiece foreign = piece;
  foreign.node = "gpu02";
  EXPECT_EQ(refusal(send(foreign)), ErrorKind::not_found) << "another node was asked";
  RunPiece made_up = piece;
  made_up.command = "c2";
  EXPECT_EQ(refusal(send(made_up)), ErrorKind::not_found);
  made_up.command = "";
  EXPECT_EQ(refusal(send(made_up)), ErrorKind::not_found);
  EXPECT_FALSE(fs::exists(incoming()));
  start();
  EXPECT_TRUE(send(piece).ok()) << "a leader that was started again knows its commands";
}

TEST_F(RunCopiesTest, ALinkIsNotFollowed) {
  append("artifacts/x", 0, "x");
  fs::create_symlink(folder_.path() / "elsewhere", incoming() / "gpu01" / kRun / "artifacts/link");
  EXPECT_EQ(refusal(send("artifacts/link", "x")), ErrorKind::io);
  EXPECT_FALSE(fs::exists(folder_.path() / "elsewhere"));
}

TEST_F(RunCopiesTest, NodesDoNotShareARun) {
  append("journal", 0, "mine");
  ASSERT_TRUE(copies_->expect("c2", "gpu02").ok());
  const auto other = send({.node = "gpu02", .command = "c2", .run = kRun, .file = "journal", .bytes = "theirs"});
  ASSERT_TRUE(other.ok());
  EXPECT_EQ(other->size, 6u);
}

TEST_F(RunCopiesTest, ARunJsonThatIsNoneOfThisRunIsRefusedAndTheCopyGone) {
  for (const std::string& record : {std::string("{}"), record_of(kOther)}) {
    append("journal", 0, "hello");
    EXPECT_EQ(refusal(send("run.json", record)), ErrorKind::usage) << record;
    EXPECT_FALSE(fs::exists(incoming() / "gpu01" / kRun));
  }
  EXPECT_THAT(published_, IsEmpty());
}

TEST_F(RunCopiesTest, AHandOverThatFailedIsTriedAgain) {
  append("journal", 0, "hello");
  const std::string record = record_of(kRun);
  // Whatever the store calls it: the agent must not give the run up.
  for (const ErrorKind kind : {ErrorKind::io, ErrorKind::busy, ErrorKind::denied, ErrorKind::not_found}) {
    failure_ = Error{.kind = kind, .message = "not now"};
    EXPECT_EQ(refusal(send("run.json", record)), ErrorKind::io);
  }
  // The agent knows nothing of the bytes that are there already and sends them again.
  const auto again = append("run.json", 0, record);
  EXPECT_TRUE(again.complete);
  EXPECT_EQ(again.size, record.size());
  EXPECT_EQ(content("journal"), "hello");
}

TEST_F(RunCopiesTest, AnIdThatAnotherRunHasIsRefusedForGood) {
  append("journal", 0, "hello");
  failure_ = Error{.kind = ErrorKind::usage, .message = "there is another run"};
  EXPECT_EQ(refusal(send("run.json", record_of(kRun))), ErrorKind::usage);
  EXPECT_FALSE(fs::exists(incoming() / "gpu01" / kRun));
}

TEST_F(RunCopiesTest, ARunThatWasHandedOverIsSaidToBeComplete) {
  append("journal", 0, "hello");
  append("run.json", 0, record_of(kRun));
  // The answer was lost, or the agent began anew: neither makes a second copy.
  for (const bool restarted : {false, true}) {
    if (restarted) start();
    EXPECT_TRUE(append("run.json", 0, record_of(kRun)).complete);
    EXPECT_TRUE(append("journal", 0, "hello").complete);
  }
  EXPECT_THAT(published_, SizeIs(1));
  EXPECT_FALSE(fs::exists(incoming() / "gpu01" / kRun));
}

TEST_F(RunCopiesTest, ALeaderThatWasKilledAfterTheHandOverIsDoneWithTheSecondCopy) {
  append("journal", 0, "hello");
  append("run.json", 0, record_of(kRun));
  auto command = cluster_.run_commands().find("c1");
  ASSERT_TRUE(command.ok());
  command->row.runs.clear();  // as if the hand-over had not been written down
  ASSERT_TRUE(cluster_.run_commands().put(*command).ok());
  append("journal", 0, "hello");
  EXPECT_TRUE(append("run.json", 0, record_of(kRun)).complete);
  EXPECT_FALSE(fs::exists(incoming() / "gpu01" / kRun)) << "what was moved before is not kept twice";
}

TEST_F(RunCopiesTest, ANodeHasLimits) {
  limits_ = {.file_bytes = 10, .node_bytes = 25, .files = 3, .runs = 2};
  start();
  EXPECT_EQ(refusal(send("journal", std::string(11, 'x'))), ErrorKind::usage) << "one file";
  append("journal", 0, std::string(10, 'x'));
  EXPECT_EQ(
      refusal(send({.node = "gpu01", .command = "c1", .run = kRun, .file = "journal", .offset = 10, .bytes = "x"})),
      ErrorKind::usage);
  append("artifacts/a", 0, "");
  append("artifacts/b", 0, "");
  EXPECT_EQ(refusal(send("artifacts/c", "")), ErrorKind::usage) << "files of one run";
  ASSERT_TRUE(send("journal", std::string(10, 'x'), kOther).ok());
  EXPECT_EQ(refusal(send("journal", "x", "k3q8m2x7ad")), ErrorKind::busy) << "runs";
  EXPECT_EQ(refusal(send("artifacts/a", std::string(6, 'x'), kOther)), ErrorKind::busy) << "bytes";
  start();
  EXPECT_EQ(refusal(send("artifacts/a", std::string(6, 'x'), kOther)), ErrorKind::busy) << "also after a restart";
  // A run that is complete makes room.
  limits_.node_bytes = 100'000;
  limits_.files = 10;
  limits_.file_bytes = 100'000;
  start();
  ASSERT_TRUE(send("run.json", record_of(kOther), kOther)->complete);
  EXPECT_TRUE(send("journal", "x", "k3q8m2x7ad").ok());
}

TEST_F(RunCopiesTest, CopiesThatAreNeverCompletedAreForgotten) {
  append("journal", 0, "hello");
  clock_.advance(RunCopies::kKeepCopies - Nanos(1));
  ASSERT_TRUE(copies_->forget_stale().ok());
  append("journal", 5, " again");
  clock_.advance(RunCopies::kKeepCopies - Nanos(1));
  ASSERT_TRUE(copies_->forget_stale().ok());
  EXPECT_TRUE(fs::exists(incoming() / "gpu01" / kRun)) << "something was added meanwhile";
  clock_.advance(Nanos(1));
  ASSERT_TRUE(copies_->forget_stale().ok());
  EXPECT_FALSE(fs::exists(incoming() / "gpu01" / kRun));
  EXPECT_EQ(append("journal", 11, "x").size, 0u) << "an agent that comes back begins anew";
  clock_.advance(RunCopies::kKeepCommands);
  ASSERT_TRUE(copies_->forget_stale().ok());
  EXPECT_EQ(refusal(send("journal", "x")), ErrorKind::not_found);
}

TEST_F(RunCopiesTest, LeftoversOfALeaderBeforeAreForgottenToo) {
  ASSERT_TRUE(make_folders(incoming() / "gpu01" / "empty").ok());
  append("journal", 0, "hello");
  start();
  ASSERT_TRUE(copies_->forget_stale().ok());
  EXPECT_FALSE(fs::exists(incoming() / "gpu01" / "empty"));
  EXPECT_TRUE(fs::exists(incoming() / "gpu01" / kRun));
}

}  // namespace
}  // namespace assay
