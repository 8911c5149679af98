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
std::vector<std::string> without_outer_job(const std::map<std::string, std::string>& set) {
  std::vector<std::string> command = {"env"};
  for (char** entry = environ; *entry; ++entry) {
    const std::string_view name = std::string_view(*entry).substr(0, std::string_view(*entry).find('='));
    if (!name.starts_with("SLURM_") || name == "SLURM_CONF" || set.contains(std::string(name))) continue;
    command.emplace_back("-u");
    command.emplace_back(name);
  }
  return command;
}

/// The last line of what a program said; the ones before it are its way there.
Error no_answer(std::string_view said) {
  const auto text = trim(said);
  const auto line = text.substr(text.rfind('\n') == std::string_view::npos ? 0 : text.rfind('\n') + 1);
  return {.kind = ErrorKind::unreachable,
          .message = line.empty() ? "Slurm's program failed without a word" : printable(line),
          .hint = "`scontrol ping` shows whether slurmctld is up."};
}

}  // namespace

struct SlurmCommands::Call {
  std::vector<std::string> arguments;
  Nanos deadline = kAskDeadline;
  std::map<std::string, std::string> environment = {};    ///< besides that of all calls
  Error (*failure)(std::string_view) = refused_by_slurm;  ///< of what it said when it failed
};

Result<std::string> SlurmCommands::run(const Call& call) const {
  const std::string& program = call.arguments.front();
  auto environment = environment_;
  environment.insert(call.environment.begin(), call.environment.end());
  auto command = without_outer_job(environment);
  command.insert(command.end(), call.arguments.begin(), call.arguments.end());
  auto output = run_command(
      command, {.deadline = call.deadline, .output_limit = kListLimit, .environment = std::move(environment)});
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
  if (output->exit_code != 0) return call.failure(output->error);
  return std::move(output->out);
}

Result<std::int64_t> SlurmCommands::submit(const SlurmRequest& request, const fs::path& script) const {
  // Slurm fails in odd ways where it cannot open a file for what the script prints.
  std::vector<std::string> arguments = {"sbatch", "--parsable", "--output=/dev/null"};
  const auto options = sbatch_arguments(request);
  arguments.insert(arguments.end(), options.begin(), options.end());
  arguments.push_back(script.string());
  ASSAY_TRY(const auto printed, run({.arguments = std::move(arguments), .deadline = kSubmitDeadline}));
  return parse_sbatch(printed);
}

Result<std::string> SlurmCommands::ask(std::vector<std::string> arguments,
                                       std::map<std::string, std::string> environment) const {
  auto printed = run({.arguments = std::move(arguments), .environment = std::move(environment), .failure = no_answer});
  if (!printed && printed.error().kind == ErrorKind::timeout) printed.error().kind = ErrorKind::unreachable;
  return printed;
}

Result<SlurmRecords> SlurmCommands::list(const std::vector<std::int64_t>& /*ids*/) const {
  // One question, however many there are.
  ASSAY_TRY(const auto printed,
            ask({"squeue", "--me", "--noheader", "--states=all", fmt::format("--format={}", kSqueueFormat)}));
  return parse_squeue(printed);
}

Result<std::string> SlurmCommands::jobs(const std::string& format) const {
  return ask({"squeue", "--noheader", format}, {{"SLURM_TIME_FORMAT", "%s"}});
}

Result<std::string> SlurmCommands::config() const { return ask({"scontrol", "show", "config"}); }

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
