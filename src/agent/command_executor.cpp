#include "agent/command_executor.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "base/hash.h"
#include "base/ids.h"
#include "base/json.h"
#include "base/log.h"
#include "base/text.h"
#include "base/units.h"
#include "net/client_messages.h"
#include "net/http_client.h"
#include "net/sse.h"
#include "protocol/paths.h"

namespace assay {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kMostWaiting = 8;
constexpr std::size_t kRememberedIds = 64;
constexpr std::size_t kErrorTail = std::size_t{16} << 10;
/// Between two looks whether it is to end.
constexpr Nanos kLook = 500ms;

CommandReport refused(std::string message) {
  return {.state = CommandReport::State::refused, .exit_code = {}, .output = {}, .message = std::move(message)};
}
CommandReport failed(std::string message) {
  return {.state = CommandReport::State::failed, .exit_code = {}, .output = {}, .message = std::move(message)};
}

/// What a program prints: the beginning of its answer, the end of its diagnostics.
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

}  // namespace

Result<void> post_report(HttpClient& client, const LeaderAccess& access, const std::string& id,
                         const CommandReport& report) {
  auto request = agent_request(access, "POST", path_of(kReportPath, id));
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
  ASSAY_TRY(auto client, make_leader_client(options.access, options.request_time));
  std::unique_ptr<CommandExecutor> executor(new CommandExecutor(std::move(options), std::move(client)));
  executor->thread_.emplace(
      "agent-executor", [self = executor.get()](const std::stop_token& stop) { self->work(stop); },
      SupervisedThread::OnFailure{.restart_after = std::chrono::seconds(1)});
  return executor;
}

CommandExecutor::~CommandExecutor() { stop(); }

void CommandExecutor::stop() {
  if (!thread_) return;
  thread_->request_stop();
  client_->cancel();
  thread_.reset();
}

std::optional<CommandReport> CommandExecutor::offer(const Command& command) {
  if (!options_.allow.contains(command.kind)) {
    return refused(
        fmt::format("this agent was not told to allow '{0}'; start it with --allow {0}", name_of(command.kind)));
  }
  const bool measuring = options_.measuring();
  const std::lock_guard lock(mutex_);
  if (std::find(taken_.begin(), taken_.end(), command.id) != taken_.end()) return std::nullopt;
  if (measuring) return refused("busy: a run is under way on this node");
  if (waiting_.size() >= kMostWaiting) return refused("busy: too many commands are waiting on this node");
  taken_.push_back(command.id);
  if (taken_.size() > kRememberedIds) taken_.pop_front();
  waiting_.push_back(command);
  changed_.notify_all();
  return std::nullopt;
}

void CommandExecutor::work(const std::stop_token& stop) {
  for (;;) {
    Command command;
    {
      std::unique_lock lock(mutex_);
      if (!changed_.wait(lock, stop, [this] { return !waiting_.empty(); })) return;
      command = waiting_.front();
      waiting_.pop_front();
    }
    if (stop.stop_requested()) return;
    try {
      log_info("the leader asks for '{}' ({})", name_of(command.kind), command.id);
      report_until_taken(command.id, examine(command, stop), stop);
    } catch (const std::exception& problem) {
      log_error("command '{}': {}", command.id, problem.what());
      report_until_taken(command.id, failed(problem.what()), stop);
    }
  }
}

CommandReport CommandExecutor::examine(const Command& command, const std::stop_token& stop) {
  GuardedOptions guarded{.arguments = options_.self};
  guarded.arguments.insert(guarded.arguments.end(), {"doctor", "--json"});
  guarded.grace = 1s;
  auto process = GuardedProcess::start(guarded);
  return process ? follow(command, *process, stop) : failed(process.error().text());
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

/// Until it has ended; its time is limited.
CommandReport CommandExecutor::follow(const Command& command, GuardedProcess& process, const std::stop_token& stop) {
  CapturedOutput captured;
  const SystemClock clock;
  // A leader that never hears that it is under way would give it up.
  std::optional<SteadyTime> next_word = say_running(command.id);
  const SteadyTime limit = clock.now() + options_.doctor_time;
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
      if (stop.stop_requested()) why = "the agent ended while it was under way";
      if (clock.now() > limit) why = fmt::format("it took longer than {}", format_duration(options_.doctor_time));
      if (!why.empty()) process.stop();
    }
    if (next_word && clock.now() >= *next_word && !stop.stop_requested()) next_word = say_running(command.id);
  }
}

void CommandExecutor::report_until_taken(const std::string& id, const CommandReport& report,
                                         const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    const auto reported = post_report(*client_, options_.access, id, report);
    if (reported) break;
    const auto kind = reported.error().kind;
    if (kind == ErrorKind::not_found || kind == ErrorKind::usage) {
      log_warning("the leader does not take the report of command '{}': {}", id, reported.error().text());
      break;
    }
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, stop, pauses_.next(), [] { return false; });
  }
  pauses_.reset();
}

}  // namespace assay
