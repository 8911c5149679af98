#include "agent/commands.h"

#include "base/hash.h"
#include "base/ids.h"
#include "base/log.h"

namespace assay {

Commands::Commands(CommandsOptions options, std::unique_ptr<HttpClient> client,
                   std::unique_ptr<CommandExecutor> executor)
    : options_(std::move(options)),
      client_(std::move(client)),
      executor_(std::move(executor)),
      pauses_(options_.executor.first_pause, options_.executor.longest_pause, stable_hash(new_id())) {}

Result<std::unique_ptr<Commands>> Commands::start(CommandsOptions options) {
  ASSAY_TRY(auto client, make_leader_client(options.executor.access, options.executor.request_time));
  ASSAY_TRY(auto executor, CommandExecutor::start(options.executor));
  std::unique_ptr<Commands> commands(new Commands(std::move(options), std::move(client), std::move(executor)));
  commands->thread_.emplace(
      "agent-commands", [self = commands.get()](const std::stop_token& stop) { self->run(stop); },
      SupervisedThread::OnFailure{.restart_after = std::chrono::seconds(1)});
  return commands;
}

Commands::~Commands() { stop(); }

void Commands::stop() {
  if (!thread_) return;
  thread_->request_stop();
  client_->cancel();
  thread_.reset();
  executor_->stop();
}

void Commands::run(const std::stop_token& stop) {
  do {
    // Read before the stream is opened: an arrival in between may already have left this stream dead.
    const std::uint64_t arrivals = options_.arrivals();
    if (arrivals == 0) continue;
    auto events = client_->open_events(agent_request(options_.executor.access, "GET", "/agent/v1/commands"));
    if (!events) {
      log_info("no commands can come: {}", events.error().text());
      continue;
    }
    pauses_.reset();
    listen(*events, arrivals);
  } while (sleep_for(stop, pauses_.next()));
}

void Commands::listen(EventSource& events, std::uint64_t arrivals) {
  const SystemClock clock;
  SteadyTime last = clock.now();
  for (;;) {
    const auto event = events.next(options_.look);
    if (event) {
      last = clock.now();
      if (event->event == "command") handle(*event);
      continue;
    }
    if (event.error().kind != ErrorKind::timeout) return;
    if (options_.arrivals() != arrivals || clock.now() - last > options_.longest_quiet) return;
  }
}

void Commands::handle(const ServerEvent& event) {
  const auto command = parse_command(event.data);
  if (!command) {
    log_warning("the leader sent a command that makes no sense: {}", command.error().text());
    if (const auto id = command_id_in(event.data)) {
      report(
          *id,
          {.state = CommandReport::State::refused, .exit_code = {}, .output = {}, .message = command.error().text()});
    }
    return;
  }
  if (const auto answer = executor_->offer(*command)) report(command->id, *answer);
}

/// Once: where it does not arrive, the leader asks again and gets the same answer.
void Commands::report(const std::string& id, const CommandReport& report) {
  const auto reported = post_report(*client_, options_.executor.access, id, report);
  if (!reported) log_info("reporting on command '{}': {}", id, reported.error().text());
}

}  // namespace assay
