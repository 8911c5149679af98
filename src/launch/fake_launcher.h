#pragma once

#include <memory>
#include <string>
#include <vector>

#include "launch/job.h"
#include "launch/job_script_fixture.h"
#include "launch/launcher.h"

namespace assay {

class FakeWork;

/// Jobs that are scripts, for tests. No process, no real time: whoever waits for a job moves the clock to where
/// something happens. Its jobs are ended a minute behind their time limit, and outlive whoever asked: one whose
/// RunningJob was destroyed goes on and can be attached to, also when it has ended. One thread.
class FakeLauncher final : public Launcher {
 public:
  /// `clock` must outlive it.
  explicit FakeLauncher(ManualClock& clock) : clock_(clock) {}
  ~FakeLauncher() override;

  /// What jobs do that are started from now on.
  JobScript script;
  /// The jobs that were started, in order.
  std::vector<Job> started;

  /// Nobody knows any more what becomes of the jobs that go on. Called by tests.
  void lose_all(const Error& why);

  std::string_view name() const override { return "fake"; }
  Result<std::unique_ptr<RunningJob>> start(const Job& job) override;
  Result<std::unique_ptr<RunningJob>> attach(std::string_view handle, PerStream<std::uint64_t> taken) override;

 private:
  ManualClock& clock_;
  std::vector<std::shared_ptr<FakeWork>> works_;
};

}  // namespace assay
