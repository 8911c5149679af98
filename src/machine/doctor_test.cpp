#include "machine/doctor.h"

#include <gmock/gmock.h>

#include <set>

#include "machine/fake_machine.h"

namespace assay {
namespace {

using testing::Contains;
using testing::Not;

std::vector<std::string> ids_of(const std::vector<DoctorFinding>& findings) {
  std::vector<std::string> ids;
  for (const auto& finding : findings) ids.push_back(finding.id);
  return ids;
}

void expect_well_formed(const std::vector<DoctorFinding>& findings) {
  std::set<std::string> ids;
  for (const auto& finding : findings) {
    EXPECT_TRUE(ids.insert(finding.id).second) << "twice: " << finding.id;
    EXPECT_NE(finding.check, "") << finding.id;
    EXPECT_NE(finding.found, "") << finding.id;
    EXPECT_EQ(finding.remedy.empty(), finding.level == DoctorFinding::Level::ok)
        << finding.id << ": " << finding.remedy;
  }
}

TEST(Doctor, a_gpu_node) {
  FakeMachine machine;
  TemporaryFolder data;
  machine.copy_from(machine_fixture("h200-vm"));
  machine.answer("nvidia-smi", "--query-gpu=", machine_fixture_text("nvidia-smi/h200-full.csv"));
  machine.answer("nvidia-smi", "--query-compute-apps=", "");
  machine.answer("/opt/assay-engine", "check", machine_fixture_text("engine/h200.json"));
  const auto findings = examine(machine.view(), {.data_folder = data.path(), .engine = "/opt/assay-engine"});
  expect_well_formed(findings);
  for (const char* id : {"cpu_governor", "memory", "data_folder", "clock", "gpu_driver", "gpus", "gpus_busy",
                         "gpu_errors", "engine", "engine_blas", "engine_bf16", "engine_cuda", "python"}) {
    EXPECT_THAT(ids_of(findings), Contains(id));
  }
}

TEST(Doctor, a_machine_that_shows_nothing) {
  FakeMachine machine;
  TemporaryFolder data;
  const auto findings = examine(machine.view(), {.data_folder = data.path()});
  expect_well_formed(findings);
  EXPECT_THAT(ids_of(findings), Contains("engine"));
  EXPECT_THAT(ids_of(findings), Not(Contains("gpus_busy"))) << "nothing about GPUs where there are none";
}

TEST(Doctor, this_machine) {
  TemporaryFolder data;
  const auto findings = examine(MachineView::real(), {.data_folder = data.path()});
  expect_well_formed(findings);
  for (const auto& finding : findings) {
    if (finding.id == "data_folder") {
      EXPECT_EQ(finding.level, DoctorFinding::Level::ok);
    }
  }
}

TEST(Doctor, level_names_are_a_contract) {
  EXPECT_EQ(name_of(DoctorFinding::Level::ok), "ok");
  EXPECT_EQ(name_of(DoctorFinding::Level::note), "note");
  EXPECT_EQ(name_of(DoctorFinding::Level::warning), "warning");
  EXPECT_EQ(name_of(DoctorFinding::Level::problem), "problem");
}

}  // namespace
}  // namespace assay
