#include "launch/slurm/slurm_commands.h"

#include <fmt/format.h>
#include <unistd.h>

#include <string_view>

#include "base/subprocess.h"
#include "base/text.h"

namespace assay {
namespace {

// A busy slurmctld answers within seconds; sbatch by itself tries for longer than anybody wants to wait.
constexpr Nanos kAskDeadline = std::chrono::seconds(10);
constexpr Nanos kSubmitDeadline = std::chrono::seconds(60);
/// Of a user with tens of thousands of jobs.
constexpr std::size_t kListLimit = std::size_t{32} << 20;

/// What an allocation around us says would be taken for wishes about the new job.
std::vector<std::string> without_outer_job() {
  std::vector<std::string> command = {"env"};
  for (char** entry = environ; *entry; ++entry) {
    const std::string_view name = std::string_view(*entry).substr(0, std::string_view(*entry).find('='));
    if (!name.starts_with("SLURM_") || name == "SLURM_CONF") continue;
    command.emplace_back("-u");
    command.emplace_back(name);
  }
  return command;
}

}  // namespace

struct SlurmCommands::Call {
  std::vector<std::string> arguments;
  Nanos deadline = kAskDeadline;
};

Result<std::string> SlurmCommands::run(const Call& call) const {
  const std::string& program = call.arguments.front();
  auto command = without_outer_job();
  command.insert(command.end(), call.arguments.begin(), call.arguments.end());
  auto output =
      run_command(command, {.deadline = call.deadline, .output_limit = kListLimit, .environment = environment_});
  if (!output && output.error().kind == ErrorKind::timeout) {
    return Error{.kind = ErrorKind::timeout,
                 .message = fmt::format("{} did not answer within {:.0f} s", program, seconds_of(call.deadline)),
                 .hint = "`scontrol ping` shows whether slurmctld is up."};
  }
  if (!output) return std::move(output).error();
  if (output->exit_code == 127) {
    return Error{
        .kind = ErrorKind::missing_file,
        .message = fmt::format("there is no '{}' on the PATH: Slurm's programs are not installed here", program),
        .hint = "Ask from a machine that may submit jobs, as the cluster's login node."};
  }
  if (output->exit_code != 0) return refused_by_slurm(output->error);
  return std::move(output->out);
}

Result<std::int64_t> SlurmCommands::submit(const std::vector<std::string>& options, const fs::path& script) const {
  std::vector<std::string> arguments = {"sbatch", "--parsable"};
  arguments.insert(arguments.end(), options.begin(), options.end());
  arguments.push_back(script.string());
  ASSAY_TRY(const auto printed, run({.arguments = std::move(arguments), .deadline = kSubmitDeadline}));
  return parse_sbatch(printed);
}

Result<SlurmRecords> SlurmCommands::list() const {
  auto printed =
      run({.arguments = {"squeue", "--me", "--noheader", "--states=all", fmt::format("--format={}", kSqueueFormat)}});
  if (printed) return parse_squeue(*printed);
  if (printed.error().kind == ErrorKind::missing_file) return std::move(printed).error();
  return Error{.kind = ErrorKind::unreachable, .message = printed.error().message, .hint = printed.error().hint};
}

std::optional<SlurmRecord> SlurmCommands::history(std::int64_t id) const {
  const auto printed = run({.arguments = {"sacct", "--noheader", "--parsable2", "--allocations",
                                          fmt::format("--jobs={}", id), fmt::format("--format={}", kSacctFields)}});
  return printed ? parse_sacct(*printed, id) : std::nullopt;
}

Result<void> SlurmCommands::cancel(std::int64_t id) const {
  const auto cancelled = run({.arguments = {"scancel", std::to_string(id)}});
  if (cancelled || cancelled.error().message.find("Invalid job id") != std::string::npos) return {};
  return cancelled.error();
}

}  // namespace assay
