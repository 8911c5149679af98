#include "agent/command_executor.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "agent/run_copier.h"
#include "base/hash.h"
#include "base/ids.h"
#include "base/json.h"
#include "base/log.h"
#include "base/text.h"
#include "base/units.h"
#include "net/url.h"

namespace assay {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kMostWaiting = 8;
constexpr std::size_t kRememberedIds = 64;
constexpr std::size_t kErrorTail = std::size_t{16} << 10;
/// A run that is to stop does so at the next look; output waits in its pipe for at most as long.
constexpr Nanos kLook = 500ms;

CommandReport refused(std::string message) {
  return {.state = CommandReport::State::refused, .exit_code = {}, .output = {}, .message = std::move(message)};
}
CommandReport failed(std::string message) {
  return {.state = CommandReport::State::failed, .exit_code = {}, .output = {}, .message = std::move(message)};
}

/// What a run prints: the beginning of its answer, the end of its diagnostics.
class CapturedOutput {
 public:
  void take(const GuardedProcess& process) {
    drain(process.out_fd(), [this](std::string_view bytes) {
      out_ += bytes.substr(0, kMaxCommandOutput - std::min(kMaxCommandOutput, out_.size()));
    });
    drain(process.error_fd(), [this](std::string_view bytes) {
      error_ += bytes;
      if (error_.size() > 2 * kErrorTail) error_.erase(0, error_.size() - kErrorTail);
    });
    // Nobody is told of this pipe; were it full, its writer would hang.
    drain(process.events_fd(), [](std::string_view) {});
  }
  /// Bytes that are no text take more room once they are replaced.
  std::string out() const { return printable(std::string_view(printable(out_)).substr(0, kMaxCommandOutput - 8)); }
  std::string error_tail() const {
    return std::string(
        trim(printable(std::string_view(error_).substr(error_.size() - std::min(error_.size(), kErrorTail)))));
  }

 private:
  template <typename Take>
  static void drain(int fd, Take take) {
    std::array<char, 16384> bytes;
    for (ssize_t size = 0; fd >= 0 && (size = ::read(fd, bytes.data(), bytes.size())) > 0;) {
      take(std::string_view(bytes.data(), static_cast<std::size_t>(size)));
    }
  }

  std::string out_;
  std::string error_;
};

/// `why` it was ended by us; empty where it ended by itself.
CommandReport outcome(const GuardReport& ended, const CapturedOutput& captured, const std::string& why) {
  CommandReport report{.state = CommandReport::State::done, .exit_code = ended.exit_code, .output = captured.out()};
  report.message = captured.error_tail();
  if (!why.empty()) {
    report.state = CommandReport::State::failed;
    report.message = why;
  } else if (!ended.exit_code) {
    report.state = CommandReport::State::failed;
    report.message = fmt::format("it was ended by signal {}. {}", ended.signal.value_or(0), report.message);
  }
  return report;
}

/// Of a run's folder: the data folder that `assay run` fills.
fs::path data_of(const fs::path& folder) { return folder / "data"; }
fs::path report_of(const fs::path& folder) { return folder / "report.json"; }

}  // namespace

Result<void> post_report(HttpClient& client, const LeaderAccess& access, const std::string& id,
                         const CommandReport& report) {
  auto request = agent_request(access, "POST", "/agent/v1/commands/" + percent_encode(id));
  request.headers.add("Content-Type", "application/json");
  request.body = json::serialize(to_json(report));
  ASSAY_TRY(const auto response, client.send(std::move(request)));
  if (response.status >= 400) return leader_error(response);
  return {};
}

CommandExecutor::CommandExecutor(ExecutorOptions options, std::unique_ptr<HttpClient> client)
    : options_(std::move(options)),
      client_(std::move(client)),
      pauses_(options_.first_pause, options_.longest_pause, stable_hash(new_id())) {}

Result<std::unique_ptr<CommandExecutor>> CommandExecutor::start(ExecutorOptions options) {
  // Runs are started in folders of their own: a relative path would mean another place there.
  std::error_code code;
  options.folder = fs::absolute(options.folder, code);
  ASSAY_CHECK(make_folders(options.folder).within("making the folder for runs"));
  ASSAY_TRY(auto client, make_leader_client(options.access, options.request_time));
  std::unique_ptr<CommandExecutor> executor(new CommandExecutor(std::move(options), std::move(client)));
  executor->thread_ = std::thread([self = executor.get()] { self->work(); });
  return executor;
}

CommandExecutor::~CommandExecutor() { stop(); }

void CommandExecutor::stop() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  client_->cancel();
  thread_.join();
}

bool CommandExecutor::stopping() const {
  const std::lock_guard lock(mutex_);
  return stopping_;
}

/// False when it is time to stop.
bool CommandExecutor::rest(Nanos pause) {
  std::unique_lock lock(mutex_);
  return !changed_.wait_for(lock, pause, [this] { return stopping_; });
}

std::optional<CommandReport> CommandExecutor::offer(const Command& command) {
  // Whoever may start runs may stop them.
  const auto needed = command.kind == Command::Kind::stop ? Command::Kind::run : command.kind;
  if (!options_.allow.contains(needed)) {
    return refused(fmt::format("this agent was not told to allow '{}'; start it with --allow {}", name_of(command.kind),
                               name_of(needed)));
  }
  if (command.kind == Command::Kind::stop) return stop_run(command.target);
  const std::lock_guard lock(mutex_);
  if (std::find(taken_.begin(), taken_.end(), command.id) != taken_.end()) return std::nullopt;
  const auto is_run = [](const Command& other) { return other.kind == Command::Kind::run; };
  const bool run_ahead = (current_ && is_run(*current_)) || std::any_of(waiting_.begin(), waiting_.end(), is_run);
  // A look at the machine would disturb the measurement.
  if (run_ahead) return refused("busy: a run is under way on this node");
  if (waiting_.size() >= kMostWaiting) return refused("busy: too many commands are waiting on this node");
  taken_.push_back(command.id);
  if (taken_.size() > kRememberedIds) taken_.pop_front();
  waiting_.push_back(command);
  changed_.notify_all();
  return std::nullopt;
}

CommandReport CommandExecutor::stop_run(const std::string& id) {
  const std::lock_guard lock(mutex_);
  const auto is_it = [&id](const Command& other) { return other.kind == Command::Kind::run && other.id == id; };
  if (!(current_ && is_it(*current_)) && std::none_of(waiting_.begin(), waiting_.end(), is_it)) {
    return refused("there is no such run on this node");
  }
  stop_id_ = id;
  return {.state = CommandReport::State::done, .exit_code = {}, .output = {}, .message = {}};
}

bool CommandExecutor::to_be_stopped(const std::string& id) const {
  const std::lock_guard lock(mutex_);
  return stop_id_ == id;
}

void CommandExecutor::work() {
  finish_leftovers();
  for (;;) {
    Command command;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
      if (stopping_) return;
      current_ = waiting_.front();
      waiting_.pop_front();
      command = *current_;
    }
    try {
      carry_out(command);
    } catch (const std::exception& problem) {
      log_error("command '{}': {}", command.id, problem.what());
      report_until_taken(command.id, failed(problem.what()));
    }
    const std::lock_guard lock(mutex_);
    current_.reset();
  }
}

/// Runs of an agent that ended before the leader had everything.
void CommandExecutor::finish_leftovers() {
  std::error_code code;
  std::vector<fs::path> folders;
  for (const auto& entry : fs::directory_iterator(options_.folder, code)) {
    if (is_command_id(entry.path().filename().string())) folders.push_back(entry.path());
  }
  for (const auto& folder : folders) {
    CommandReport report = failed("the agent ended while the run was under way");
    if (const auto text = read_file(report_of(folder))) {
      const auto value = parse_json(*text);
      if (auto kept = value ? command_report_from_json(*value) : Result<CommandReport>(value.error())) report = *kept;
    }
    deliver(folder.filename().string(), report, folder);
  }
}

void CommandExecutor::carry_out(const Command& command) {
  log_info("the leader asks for '{}' ({})", name_of(command.kind), command.id);
  if (command.kind == Command::Kind::doctor) {
    report_until_taken(command.id, examine(command));
    return;
  }
  const fs::path folder = options_.folder / command.id;
  running_ = true;
  const CommandReport report = run(command, folder);
  running_ = false;
  // Kept first: the agent may be stopped while the leader is away.
  if (fs::exists(folder)) {
    const auto kept = write_file_atomically(report_of(folder), json::serialize(to_json(report)));
    if (!kept) log_warning("{}", kept.error().text());
  }
  deliver(command.id, report, folder);
}

CommandReport CommandExecutor::examine(const Command& command) {
  GuardedOptions guarded{.arguments = options_.self};
  guarded.arguments.insert(guarded.arguments.end(), {"doctor", "--json"});
  guarded.grace = 1s;
  auto process = GuardedProcess::start(guarded);
  return process ? follow(command, *process, nullptr) : failed(process.error().text());
}

CommandReport CommandExecutor::run(const Command& command, const fs::path& folder) {
  if (to_be_stopped(command.id)) return failed("it was stopped before it began");
  const fs::path spec = folder / "spec.yaml";
  auto written = make_folders(folder);
  if (written) written = write_file_atomically(spec, command.spec);
  if (!written) return failed(written.error().text());
  GuardedOptions guarded{.arguments = options_.self};
  guarded.arguments.insert(guarded.arguments.end(),
                           {"run", spec.string(), "--json", "--quiet", "--data", data_of(folder).string()});
  if (!command.name.empty()) guarded.arguments.push_back("--name=" + command.name);
  // Where it may write, and which goes when it is over.
  guarded.folder = folder;
  // It records here, whoever we report to; and it passes SIGTERM on to its own workload and records how that ended.
  guarded.environment["ASSAY_LEADER"] = "";
  guarded.grace = 15s;
  auto process = GuardedProcess::start(guarded);
  if (!process) return failed(process.error().text());
  RunCopier copier(*client_, options_.access, command.id, data_of(folder) / "runs");
  return follow(command, *process, &copier);
}

/// When to say so again; never where the leader has heard it or does not want to.
std::optional<SteadyTime> CommandExecutor::say_running(const std::string& id) {
  const auto told = post_report(*client_, options_.access, id, {.state = CommandReport::State::running});
  if (told) return std::nullopt;
  log_info("command '{}': {}", id, told.error().text());
  const auto kind = told.error().kind;
  if (kind == ErrorKind::not_found || kind == ErrorKind::usage) return std::nullopt;
  return SystemClock().now() + pauses_.next();
}

/// Until it has ended. With a copier, what it records goes to the leader meanwhile; without, its time is limited.
CommandReport CommandExecutor::follow(const Command& command, GuardedProcess& process, RunCopier* copier) {
  CapturedOutput captured;
  const SystemClock clock;
  // A leader that never hears that it is under way would give it up.
  std::optional<SteadyTime> next_word = say_running(command.id);
  const SteadyTime limit = copier != nullptr ? SteadyTime::max() : clock.now() + options_.doctor_time;
  SteadyTime next_copy = copier != nullptr ? clock.now() + options_.copy_period : SteadyTime::max();
  std::array<pollfd, 3> watched = {
      {{process.report_fd(), POLLIN, 0}, {process.out_fd(), POLLIN, 0}, {process.error_fd(), POLLIN, 0}}};
  std::string why;
  for (;;) {
    static_cast<void>(::poll(watched.data(), watched.size(), static_cast<int>(kLook / 1ms)));
    captured.take(process);
    const auto ended = process.poll_report();
    if (!ended) return failed(ended.error().text());
    if (*ended) return outcome(**ended, captured, why);
    // A pipe at its end is readable for ever: poll must not look at it again.
    for (auto& pipe : watched) {
      if ((pipe.revents & (POLLHUP | POLLERR)) != 0) pipe.fd = -1;
    }
    if (why.empty()) {
      if (to_be_stopped(command.id)) why = "it was stopped on request";
      if (stopping()) why = "the agent ended while it was under way";
      if (clock.now() > limit) why = fmt::format("it took longer than {}", format_duration(options_.doctor_time));
      if (!why.empty()) process.stop();
    }
    if (next_word && clock.now() >= *next_word && !stopping()) next_word = say_running(command.id);
    if (clock.now() < next_copy || stopping()) continue;
    const auto copied = copier->copy(false);
    if (!copied) log_info("copying the run of command '{}': {}", command.id, copied.error().text());
    next_copy = clock.now() + (copied ? options_.copy_period : pauses_.next());
    if (copied) pauses_.reset();
  }
}

/// Brings the rest of a run to the leader, and then how it ended. The folder stays where that was not possible: it is
/// the only copy then.
void CommandExecutor::deliver(const std::string& id, CommandReport report, const fs::path& folder) {
  RunCopier copier(*client_, options_.access, id, data_of(folder) / "runs");
  copy_all(copier);
  const bool complete = copier.complete();
  if (!complete && !stopping()) {
    log_warning("the leader did not take all that command '{}' recorded; it stays in '{}'", id, folder.string());
    report.message += fmt::format("{}The recording stays in '{}' on the node: the leader did not take all of it.",
                                  report.message.empty() ? "" : "\n", folder.string());
  }
  report_until_taken(id, report);
  if (!complete || stopping()) return;
  std::error_code code;
  fs::remove_all(folder, code);
}

void CommandExecutor::copy_all(RunCopier& copier) {
  while (!stopping()) {
    const auto copied = copier.copy(true);
    if (copied) break;
    log_info("copying a run: {}", copied.error().text());
    if (!rest(pauses_.next())) return;
  }
  pauses_.reset();
}

void CommandExecutor::report_until_taken(const std::string& id, const CommandReport& report) {
  while (!stopping()) {
    const auto reported = post_report(*client_, options_.access, id, report);
    if (reported) break;
    const auto kind = reported.error().kind;
    if (kind == ErrorKind::not_found || kind == ErrorKind::usage) {
      log_warning("the leader does not take the report of command '{}': {}", id, reported.error().text());
      break;
    }
    if (!rest(pauses_.next())) return;
  }
  pauses_.reset();
}

}  // namespace assay
