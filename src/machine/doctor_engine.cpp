#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <cstring>

#include "base/json.h"
#include "base/text.h"
#include "machine/doctor_checks.h"

namespace assay {
namespace {

using Level = DoctorFinding::Level;

constexpr std::string_view kInstall =
    "Build it with 'cmake --preset release' on this machine, or 'cmake --preset gpu' where PyTorch with CUDA is "
    "installed, and put it beside assay, on the PATH, or name it in ASSAY_ENGINE.";

/// What `assay-engine check --json` reports, as far as doctor judges it.
struct EngineReport {
  std::string version;
  std::string torch;
  std::int64_t threads = 1;
  std::string blas;
  double gflops = 0;
  bool bf16 = false;
  std::string bf16_problem;
  bool cuda_built = false;
  bool cuda_available = false;
  std::string cuda_problem;
  std::vector<std::string> cuda_devices;
};

const json::value& member(JsonFields& fields, std::string_view key) {
  static const json::value kEmpty = json::object();
  const auto* value = fields.find(key);
  return value ? *value : kEmpty;
}

Result<EngineReport> report_from(std::string_view text) {
  ASSAY_TRY(const auto envelope, parse_json(text));
  JsonFields outer(envelope, "the engine's answer");
  JsonFields fields(member(outer, "result"), "the engine's answer");
  EngineReport report;
  report.version = fields.text("engine");
  report.torch = fields.text("torch");
  report.threads = fields.integer_or("threads", 1);
  JsonFields blas(member(fields, "blas"), "blas");
  report.blas = blas.text("name");
  report.gflops = blas.number("fp32_gflops");
  JsonFields bf16(member(fields, "bf16"), "bf16");
  JsonFields bf16_cpu(member(bf16, "cpu"), "bf16.cpu");
  report.bf16 = bf16_cpu.boolean_or("usable", false);
  report.bf16_problem = bf16_cpu.text_or("problem", "");
  JsonFields cuda(member(fields, "cuda"), "cuda");
  report.cuda_built = cuda.boolean_or("built", false);
  report.cuda_available = cuda.boolean_or("available", false);
  report.cuda_problem = cuda.text_or("problem", "");
  for (const auto& item : cuda.array_or_empty("devices")) {
    JsonFields device(item, "cuda.devices");
    report.cuda_devices.push_back(
        fmt::format("{} (capability {})", device.text("name"), device.text_or("capability", "?")));
    ASSAY_CHECK(device.finish());
  }
  for (auto* part : {&outer, &fields, &blas, &bf16, &bf16_cpu, &cuda}) ASSAY_CHECK(part->finish());
  return report;
}

/// Why there is no report to read; empty when there is one.
std::string failure_of(const Result<CommandOutput>& answer) {
  if (!answer) return answer.error().text();
  if (answer->signal) return fmt::format("ended by signal {} ({})", *answer->signal, ::strsignal(*answer->signal));
  if (answer->exit_code == 0) return {};
  const auto said = trim(split(trim(answer->error), '\n').back());
  return fmt::format("exit code {}{}{}", answer->exit_code.value_or(-1), said.empty() ? "" : ": ", said);
}

std::string remedy_for(const Result<CommandOutput>& answer) {
  if (answer && answer->signal == SIGILL) {
    return "Its LibTorch uses instructions this processor lacks. Set ONEDNN_MAX_CPU_ISA=AVX2, or build it here.";
  }
  if (answer && answer->error.find("shared libraries") != std::string::npos) {
    return "Its LibTorch is not where it was when it was built. Install it there again, or build the engine again.";
  }
  return "Run 'assay-engine check' by hand to see all of what it says.";
}

DoctorFinding judge_blas(const EngineReport& report) {
  auto finding = ok("BLAS", "engine_blas",
                    fmt::format("{}, {:.0f} GFLOP/s in fp32 on {} thread{}", report.blas, report.gflops, report.threads,
                                report.threads == 1 ? "" : "s"));
  if (report.blas == "none" || report.blas == "reference") {
    return raised(finding, Level::warning,
                  "Matrix products on the CPU are several times slower than they could be. Install OpenBLAS "
                  "('apt install libopenblas0-pthread').");
  }
  // Plain loops reach one to three GFLOP/s a core, any tuned library ten times that.
  constexpr double kSlowPerThread = 4;
  if (report.gflops >= kSlowPerThread * static_cast<double>(std::max<std::int64_t>(report.threads, 1))) return finding;
  return raised(
      finding, Level::warning,
      "Too slow for a tuned library: other programs took the cores, or it has no code for this processor. Run "
      "doctor again on an idle machine.");
}

DoctorFinding judge_bf16(const EngineReport& report) {
  auto finding = ok("bf16", "engine_bf16", "computes correctly on the CPU");
  if (report.bf16) return finding;
  finding.found = report.bf16_problem.empty() ? "not usable on the CPU" : report.bf16_problem;
  return raised(finding, Level::warning, "Use 'precision: fp32' for runs on the CPU.");
}

DoctorFinding judge_cuda(const EngineReport& report, std::size_t gpus) {
  auto finding = ok("CUDA in the engine", "engine_cuda", join(report.cuda_devices, ", "));
  if (report.cuda_available) return finding;
  finding.found = !report.cuda_built
                      ? "built without CUDA"
                      : fmt::format("not usable: {}", report.cuda_problem.empty() ? "no device" : report.cuda_problem);
  if (gpus == 0) return finding;
  return raised(finding, Level::warning,
                report.cuda_built ? "Check that the driver is new enough for the CUDA version of this PyTorch, and "
                                    "CUDA_VISIBLE_DEVICES."
                                  : "The GPUs here would stay idle. Build the engine with 'cmake --preset gpu' against "
                                    "a PyTorch with CUDA.");
}

}  // namespace

std::vector<DoctorFinding> check_engine(const MachineView& view, const std::filesystem::path& engine,
                                        std::size_t gpus) {
  auto finding = ok("Engine", "engine", "assay-engine not found");
  if (engine.empty()) {
    return {raised(finding, Level::warning,
                   fmt::format("Built-in workloads need it; 'assay exec' and commands do not. {}", kInstall))};
  }
  const auto answer =
      view.run({engine.string(), "check", "--json"}, CommandOptions{.deadline = std::chrono::seconds(60)});
  if (const auto failure = failure_of(answer); !failure.empty()) {
    finding.found = fmt::format("'{}' does not work: {}", engine.string(), failure);
    return {raised(finding, Level::problem, remedy_for(answer))};
  }
  const auto report = report_from(answer->out);
  if (!report) {
    finding.found = fmt::format("'{}' gave no readable answer: {}", engine.string(), report.error().text());
    return {raised(finding, Level::problem, "Build assay and assay-engine from the same source.")};
  }
  finding.found = fmt::format("assay-engine {}, LibTorch {}", report->version, report->torch);
  return {finding, judge_blas(*report), judge_bf16(*report), judge_cuda(*report, gpus)};
}

}  // namespace assay
