#include <gmock/gmock.h>

#include <csignal>

#include "machine/doctor_checks.h"
#include "machine/fake_machine.h"

namespace assay {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using Level = DoctorFinding::Level;

constexpr const char* kEngine = "/opt/assay/assay-engine";

class DoctorEngine : public testing::Test {
 protected:
  std::vector<DoctorFinding> check(std::size_t gpus = 0) { return check_engine(machine_.view(), kEngine, gpus); }

  /// The recorded answer with one part of it replaced.
  void answer_with(const std::string& part, const std::string& replacement) {
    std::string text = machine_fixture_text("engine/debian-cpu.json");
    const auto at = text.find(part);
    ASSERT_NE(at, std::string::npos) << part;
    machine_.answer(kEngine, "check", text.replace(at, part.size(), replacement));
  }

  FakeMachine machine_;
};

TEST_F(DoctorEngine, missing) {
  const auto findings = check_engine(machine_.view(), "", 0);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].id, "engine");
  EXPECT_EQ(findings[0].level, Level::warning);
  EXPECT_THAT(findings[0].remedy, AllOf(HasSubstr("cmake --preset"), HasSubstr("ASSAY_ENGINE")));
}

TEST_F(DoctorEngine, on_a_cpu_machine) {
  machine_.answer(kEngine, "check", machine_fixture_text("engine/debian-cpu.json"));
  const auto findings = check();
  ASSERT_EQ(findings.size(), 4u);
  EXPECT_EQ(findings[0].found, "assay-engine 0.1.0, LibTorch 1.13.0");
  EXPECT_THAT(findings[1].found, HasSubstr("OpenBLAS"));
  EXPECT_EQ(findings[3].found, "built without CUDA");
  for (const auto& finding : findings) EXPECT_EQ(finding.level, Level::ok) << finding.check;
  ASSERT_EQ(machine_.calls().size(), 1u);
  EXPECT_EQ(machine_.calls()[0].options.deadline, std::chrono::seconds(60));
}

TEST_F(DoctorEngine, on_an_h200) {
  machine_.answer(kEngine, "check", machine_fixture_text("engine/h200.json"));
  const auto findings = check(1);
  ASSERT_EQ(findings.size(), 4u);
  EXPECT_EQ(findings[1].found, "MKL, 1050 GFLOP/s in fp32 on 16 threads");
  EXPECT_EQ(findings[3].found, "NVIDIA H200 (capability 9.0)");
  for (const auto& finding : findings) EXPECT_EQ(finding.level, Level::ok) << finding.check;
}

TEST_F(DoctorEngine, without_cuda_where_gpus_are) {
  machine_.answer(kEngine, "check", machine_fixture_text("engine/debian-cpu.json"));
  EXPECT_EQ(check(8)[3].level, Level::warning);
  answer_with(R"("built":false)", R"("problem":"driver too old","built":true)");
  EXPECT_EQ(check(8)[3].level, Level::warning);
  EXPECT_EQ(check(8)[3].found, "not usable: driver too old");
}

TEST_F(DoctorEngine, slow_blas) {
  answer_with(R"("name":"OpenBLAS")", R"("name":"reference")");
  EXPECT_EQ(check()[1].level, Level::warning);
  EXPECT_THAT(check()[1].remedy, HasSubstr("OpenBLAS"));
  answer_with(R"("threads":1)", R"("threads":64)");
  EXPECT_EQ(check()[1].level, Level::warning);
  EXPECT_THAT(check()[1].remedy, HasSubstr("idle machine"));
}

TEST_F(DoctorEngine, bf16_that_does_not_compute) {
  answer_with(R"("usable":true)", R"("usable":false,"problem":"bf16 and fp32 products differ")");
  EXPECT_EQ(check()[2].level, Level::warning);
  EXPECT_EQ(check()[2].found, "bf16 and fp32 products differ");
}

TEST_F(DoctorEngine, that_does_not_work) {
  const std::vector<std::pair<Result<CommandOutput>, std::string>> failures = {
      {CommandOutput{.signal = SIGILL}, "ended by signal 4"},
      {CommandOutput{.exit_code = 127, .error = "assay-engine: error while loading shared libraries: libtorch.so"},
       "libtorch.so"},
      {CommandOutput{.exit_code = 3}, "exit code 3"},
      {Error{.kind = ErrorKind::timeout, .message = "no answer within 60 s"}, "no answer within 60 s"},
      {Error{.kind = ErrorKind::denied, .message = "not executable"}, "not executable"},
  };
  for (const auto& [answer, expected] : failures) {
    machine_.answer(kEngine, "check", answer);
    const auto findings = check();
    ASSERT_EQ(findings.size(), 1u);
    EXPECT_EQ(findings[0].level, Level::problem);
    EXPECT_THAT(findings[0].found, AllOf(HasSubstr(kEngine), HasSubstr(expected)));
    EXPECT_NE(findings[0].remedy, "");
  }
}

TEST_F(DoctorEngine, that_answers_nonsense) {
  for (const char* nonsense : {"", "hello", "{}", "[1]", R"({"result": 7})", R"({"result": {"engine": 1}})",
                               R"({"result": {"engine":"1","torch":"2","blas":{"name":"x","fp32_gflops":"fast"}}})",
                               R"({"result": {"engine":"1","torch":"2","blas":[],"cuda":{"devices":[3]}}})"}) {
    machine_.answer(kEngine, "check", std::string(nonsense));
    const auto findings = check();
    ASSERT_EQ(findings.size(), 1u) << nonsense;
    EXPECT_EQ(findings[0].level, Level::problem) << nonsense;
  }
}

}  // namespace
}  // namespace assay
