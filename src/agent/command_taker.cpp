#include "agent/command_taker.h"

#include "base/log.h"
#include "net/http_client.h"
#include "net/sse.h"
#include "protocol/paths.h"

namespace assay {

CommandTaker::CommandTaker(CommandTakerOptions options, std::unique_ptr<HttpClient> client,
                           std::unique_ptr<CommandExecutor> executor)
    : options_(std::move(options)), client_(std::move(client)), executor_(std::move(executor)) {}

Result<std::unique_ptr<CommandTaker>> CommandTaker::start(CommandTakerOptions options) {
  const ExecutorOptions& executor = options.executor;
  ASSAY_TRY(auto client, make_leader_client(executor.access, executor.request_time));
  ASSAY_TRY(auto started, CommandExecutor::start(executor));
  ListenerOptions listener{.access = executor.access,
                           .target = std::string(kCommandsPath),
                           .what = "commands",
                           .arrivals = options.arrivals,
                           .look = options.look,
                           .request_time = executor.request_time,
                           .first_pause = executor.first_pause,
                           .longest_pause = executor.longest_pause};
  std::unique_ptr<CommandTaker> commands(new CommandTaker(std::move(options), std::move(client), std::move(started)));
  listener.on_event = [self = commands.get()](const ServerEvent& event) { self->handle(event); };
  ASSAY_TRY(commands->listener_, EventListener::start(std::move(listener)));
  return commands;
}

CommandTaker::~CommandTaker() { stop(); }

void CommandTaker::stop() {
  client_->cancel();
  if (listener_) listener_->stop();
  executor_->stop();
}

void CommandTaker::handle(const ServerEvent& event) {
  if (event.event != kCommandEvent) return;
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
void CommandTaker::report(const std::string& id, const CommandReport& report) {
  const auto reported = post_report(*client_, options_.executor.access, id, report);
  if (!reported) log_info("reporting on command '{}': {}", id, reported.error().text());
}

}  // namespace assay
