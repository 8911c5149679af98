#include "agent/slurm_reporter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "agent/fake_leader_fixture.h"
#include "protocol/slurm_report.h"

namespace assay {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

class SlurmReporterTest : public testing::Test {
 protected:
  void start(ReadSlurmJobs read, Nanos refused_pause = 1h) {
    auto reporter = SlurmReporter::start({.access = leader_.access(),
                                          .read = std::move(read),
                                          .arrivals = [this] { return arrivals_.load(); },
                                          .period = 2ms,
                                          .refused_pause = refused_pause});
    ASSERT_TRUE(reporter.ok()) << reporter.error().text();
    reporter_ = std::move(*reporter);
  }
  std::vector<std::string> told() {
    return leader_.look([](const FakeLeader::Seen& seen) { return seen.slurm; });
  }
  SlurmReport last() {
    const auto bodies = told();
    return bodies.empty() ? SlurmReport{} : parse_slurm_report(bodies.back()).value();
  }

  FakeLeader leader_;
  std::atomic<std::uint64_t> arrivals_ = 1;
  std::unique_ptr<SlurmReporter> reporter_;
};

SlurmJobs one_job() { return {.jobs = {{.id = "12", .user = "ada", .state = "RUNNING", .nodes = "node1"}}}; }

TEST_F(SlurmReporterTest, TellsAgainAndAgainWhatSlurmHas) {
  start([] { return Result<SlurmJobs>(one_job()); });
  ASSERT_TRUE(comes_true([&] { return told().size() >= 3; }));
  EXPECT_EQ(last().jobs, one_job());
  EXPECT_EQ(last().problem, "");
}

TEST_F(SlurmReporterTest, TellsWhyItDoesNotKnow) {
  std::atomic<bool> down = true;
  testing::internal::CaptureStderr();
  start([&]() -> Result<SlurmJobs> {
    if (down) return Error{.kind = ErrorKind::unreachable, .message = "Slurm does not answer"};
    return one_job();
  });
  ASSERT_TRUE(comes_true([&] { return told().size() >= 3; }));
  EXPECT_EQ(last().problem, "Slurm does not answer");
  down = false;
  EXPECT_TRUE(comes_true([&] { return last().jobs == one_job(); }));
  reporter_.reset();
  const auto logged = testing::internal::GetCapturedStderr();
  EXPECT_EQ(logged.find("are not known"), logged.rfind("are not known")) << "once: " << logged;
}

TEST_F(SlurmReporterTest, ALeaderThatDoesNotWantToKnowIsLeftAlone) {
  {
    const std::lock_guard lock(leader_.mutex);
    leader_.slurm_status = 403;
  }
  testing::internal::CaptureStderr();
  std::atomic<int> readings = 0;
  start([&] {
    ++readings;
    return Result<SlurmJobs>(one_job());
  });
  ASSERT_TRUE(comes_true([&] { return !told().empty(); }));
  std::this_thread::sleep_for(50ms);
  EXPECT_EQ(readings, 1) << "nor is Slurm asked for nothing";
  reporter_.reset();
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("does not want to know Slurm's jobs"));
}

TEST_F(SlurmReporterTest, NothingIsAskedBeforeTheLeaderWasFound) {
  arrivals_ = 0;
  std::atomic<int> readings = 0;
  start([&] {
    ++readings;
    return Result<SlurmJobs>(one_job());
  });
  std::this_thread::sleep_for(20ms);
  EXPECT_EQ(readings, 0);
  arrivals_ = 1;
  EXPECT_TRUE(comes_true([&] { return !told().empty(); }));
}

}  // namespace
}  // namespace assay
