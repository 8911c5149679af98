#include "launch/ssh/ssh_host.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "backup/sha256.h"
#include "base/byte_stream.h"
#include "base/spawn.h"
#include "base/subprocess.h"
#include "base/text.h"
#include "launch/hosted/file_relay.h"
#include "launch/hosted/job_programs.h"
#include "launch/hosted/part_relay.h"

namespace assay {
namespace {

// Beyond ssh's own time-out for connecting: keys are tried, jump hosts are passed.
constexpr Nanos kLoginExtra = std::chrono::seconds(30);
constexpr Nanos kShortCommand = std::chrono::seconds(60);
constexpr Nanos kCopyPatience = std::chrono::minutes(10);
constexpr Nanos kTakePatience = std::chrono::minutes(5);
constexpr int kSshFailed = 255;  // ssh itself, as opposed to what it ran
constexpr std::string_view kReady = "@assay-ready";

/// The host's shell may be any; what we say is for `sh`.
std::string for_sh(std::string_view script) { return "exec sh -c " + shell_word(script); }

/// Where copies of the program are there.
constexpr std::string_view kCacheThere = R"(c="${XDG_CACHE_HOME:-$HOME/.cache}/assay")";

/// Prints `have PATH` if the copy is there and whole, else `need`.
std::string look_script(const std::string& sha256) {
  return fmt::format(R"sh({0}; p="$c/{1}/assay"
if [ -x "$p" ] && [ "$(sha256sum <"$p" | cut -c1-64)" = {1} ]; then
  touch "$c/{1}"; find "$c" -mindepth 1 -maxdepth 1 -type d ! -name jobs ! -name {1} -mtime +30 -exec rm -rf {{}} + 2>/dev/null
  echo "@have $p"
else echo "@need $(uname -s) $(uname -m)"; fi)sh",
                     kCacheThere, sha256);
}

/// Takes the program from standard input. Under another name until it is whole, so that nobody starts half of it.
std::string copy_script(const std::string& sha256) {
  return fmt::format(R"sh(umask 077; {0}; mkdir -p "$c/{1}" || exit 1; t="$c/{1}/assay.$$"
cat >"$t" && chmod 700 "$t" || {{ rm -f "$t"; exit 1; }}
if [ "$(sha256sum <"$t" | cut -c1-64)" = {1} ]; then mv -f "$t" "$c/{1}/assay"; else rm -f "$t"; echo "@damaged"; fi)sh",
                     kCacheThere, sha256);
}

/// The rest of the line that begins with the word; shells may greet before.
std::optional<std::string> answer_in(std::string_view text, std::string_view word) {
  for (const auto line : split(text, '\n')) {
    if (line.starts_with(word)) return std::string(trim(line.substr(word.size())));
  }
  return std::nullopt;
}

}  // namespace

Result<ProgramCopy> describe_program(const fs::path& path) {
  ASSAY_TRY(const auto content, file_source(path));
  Sha256 sum;
  ASSAY_CHECK([&]() -> Result<void> {
    auto poured = pour(*content, [&](std::string_view piece) -> Result<void> {
      sum.add(piece);
      return {};
    });
    return poured ? Result<void>() : Result<void>(std::move(poured).error());
  }());
  return ProgramCopy{.path = path, .sha256 = sum.digits()};
}

Result<SshHost> SshHost::connect(const SshSettings& settings, std::string host) {
  ASSAY_CHECK(check_host(host));
  SshHost connected(settings, std::move(host));
  connected.folder_ = std::make_unique<TemporaryFolder>();
  auto arguments = ssh_arguments(settings, connected.folder_->path() / "c", connected.host_);
  arguments.insert(arguments.begin() + 1, {"-o", "ControlMaster=yes"});
  // It lives as long as its input: also if we are killed.
  arguments.push_back(for_sh(fmt::format("echo {}; exec cat >/dev/null", kReady)));
  ASSAY_TRY(auto master, SshChild::start(arguments));
  connected.master_.emplace(std::move(master));
  const SystemClock clock;
  const auto deadline = clock.now() + settings.connect_timeout + kLoginExtra;
  std::string answer;
  while (answer.find(kReady) == std::string::npos) {
    if (!wait_readable(connected.master_->out(), deadline)) {
      return Error{
          .kind = ErrorKind::unreachable,
          .message =
              fmt::format("{}: ssh: no answer within {} s", connected.host_,
                          std::chrono::ceil<std::chrono::seconds>(settings.connect_timeout + kLoginExtra).count()),
          .hint = fmt::format("Is it up, and may it be reached from here? `ssh -v {}` says more.", connected.host_)};
    }
    std::array<char, 4096> buffer;
    const ssize_t got = ::read(connected.master_->out(), buffer.data(), buffer.size());
    if (got == 0) return ssh_error(connected.host_, connected.master_->said());
    if (got > 0) answer.append(buffer.data(), static_cast<std::size_t>(got));
  }
  return connected;
}

Result<std::string> SshHost::run(const std::string& script, std::string input, Nanos deadline) const {
  auto arguments = ssh_arguments(settings_, folder_->path() / "c", host_);
  arguments.push_back(for_sh(script));
  ASSAY_TRY(auto output, run_command(arguments, {.deadline = deadline, .input = std::move(input)}).within(host_));
  if (output.exit_code == kSshFailed) return ssh_error(host_, output.error);
  if (output.exit_code != 0) {
    return Error{
        .kind = ErrorKind::io,
        .message = fmt::format("{}: {}", host_, printable(trim(output.error.empty() ? output.out : output.error)))};
  }
  return std::move(output.out);
}

Result<void> SshHost::install(const ProgramCopy& program) {
  const auto look = [&] { return run(look_script(program.sha256), "", kShortCommand); };
  ASSAY_TRY(auto found, look());
  auto path = answer_in(found, "@have ");
  if (!path) {
    const auto system = answer_in(found, "@need ").value_or("");
    if (system != "Linux x86_64") {
      return Error{.kind = ErrorKind::unsupported,
                   .message = fmt::format("{}: it is a {}, and this assay is for Linux on x86-64", host_, system)};
    }
    ASSAY_TRY(auto content, read_file(program.path, std::size_t{2} << 30));
    if (auto copied = run(copy_script(program.sha256), std::move(content), kCopyPatience); !copied) {
      return std::move(copied).error();
    }
    ASSAY_TRY(found, look());
    path = answer_in(found, "@have ");
  }
  if (!path) {
    return Error{.kind = ErrorKind::io,
                 .message = fmt::format("{}: the copy of assay did not arrive whole", host_),
                 .hint = "Is its home folder full?"};
  }
  program_ = *path;
  return {};
}

Result<HostRecord> SshHost::take_job(const std::string& id, const Job& job, PartOfJob part, const std::string& meeting,
                                     const std::string& engine) {
  ASSAY_TRY(auto order, write_order(job));
  std::string lines = relay_lines({.kind = RelayKind::order, .payload = std::move(order)});
  if (job.scratch) {
    FileSender files(*job.scratch);
    for (bool more = true; more;) {
      ASSAY_TRY(more, files.step(lines, std::size_t{1} << 20));
    }
  }
  lines += relay_lines({.kind = RelayKind::complete});
  std::string script = engine.empty() ? "" : "ASSAY_ENGINE=" + shell_word(engine) + " ";
  script += fmt::format("{} {} {} {} {} || :", shell_word(program_), kTakeJobArgument, id, text_of(part),
                        shell_word(meeting));
  ASSAY_TRY(const auto answer, run(script, std::move(lines), kTakePatience));
  std::optional<HostRecord> record;
  RelayReader reader([&](const RelayFrame& frame) -> Result<void> {
    ASSAY_TRY(const auto value, parse_json(frame.payload));
    if (frame.kind == RelayKind::problem) {
      ASSAY_TRY(const auto problem, part_ending_from_json(value));
      if (!problem) return problem.error();
    } else if (frame.kind == RelayKind::host) {
      ASSAY_TRY(record, host_record_from_json(value));
    }
    return {};
  });
  if (auto taken = reader.take(answer).within(host_); !taken) {
    if (taken.error().kind == ErrorKind::no_engine) {
      taken.error().hint =
          fmt::format("Install it there, or say where it is: --on ssh:{},engine=/path/to/assay-engine", host_);
    }
    return std::move(taken).error();
  }
  if (!record)
    return Error{.kind = ErrorKind::io,
                 .message = fmt::format("{}: the job was not taken: {}", host_, printable(trim(answer)))};
  return *std::move(record);
}

Result<std::optional<Job>> SshHost::read_order_of(const std::string& id) const {
  ASSAY_TRY(const auto text,
            run(fmt::format(R"sh({}; f="$c/jobs/{}/order.json"; [ ! -e "$f" ] || {{ echo @order; cat "$f"; }})sh",
                            kCacheThere, id),
                "", kShortCommand));
  constexpr std::string_view kOrder = "@order\n";
  const auto at = text.find(kOrder);
  if (at == std::string::npos) return std::optional<Job>();
  ASSAY_TRY(auto job, read_order(std::string_view(text).substr(at + kOrder.size())).within(host_));
  return std::optional(std::move(job));
}

void SshHost::drop_job(const std::string& id) {
  // Its host sees that the folder is gone, and ends it.
  (void)run(fmt::format(R"({0}; rm -rf "$c/jobs/{1}" "$c/jobs/{1}".*)", kCacheThere, id), "", kShortCommand).ok();
}

std::vector<std::string> SshHost::command(const std::vector<std::string>& arguments) const {
  auto words = ssh_arguments(settings_, folder_->path() / "c", host_);
  std::string script = "exec " + shell_word(program_);
  for (const auto& argument : arguments) script += " " + shell_word(argument);
  words.push_back(for_sh(script));
  return words;
}

Result<std::string> address_of(const SshSettings& settings, const std::string& host) {
  ASSAY_CHECK(check_host(host));
  auto arguments = ssh_arguments(settings, {}, host);
  arguments.insert(arguments.begin() + 1, "-G");
  ASSAY_TRY(const auto output, run_command(arguments, {.deadline = kShortCommand}));
  if (const auto name = answer_in(output.out, "hostname "); output.exit_code == 0 && name) return *name;
  return Error{.kind = ErrorKind::usage, .message = fmt::format("{}: ssh: {}", host, printable(trim(output.error)))};
}

}  // namespace assay
