#include "leader/command_desk.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/ids.h"
#include "base/text.h"
#include "leader/readable.h"

namespace assay {
namespace {

constexpr std::size_t kMaxOutput = std::size_t{1} << 20;
constexpr std::size_t kMaxMessage = 4096;
constexpr std::size_t kMaxSpec = std::size_t{1} << 20;

using State = AgentCommand::State;
constexpr std::array<std::pair<State, std::string_view>, 6> kStates = {{{State::waiting, "waiting"},
                                                                        {State::running, "running"},
                                                                        {State::done, "done"},
                                                                        {State::failed, "failed"},
                                                                        {State::refused, "refused"},
                                                                        {State::expired, "expired"}}};

Error misuse(std::string message, std::string hint = "") {
  return {.kind = ErrorKind::usage, .message = std::move(message), .hint = std::move(hint)};
}

Result<void> check_arguments(std::string_view kind, const json::object& arguments) {
  const auto text_of = [&](std::string_view name) {
    const auto* value = arguments.if_contains(name);
    return value != nullptr && value->is_string() ? std::string_view(value->as_string()) : std::string_view();
  };
  if (kind == "run") {
    const auto spec = text_of("spec");
    if (spec.empty()) return misuse("'run' needs 'spec', the text of a specification");
    if (spec.size() > kMaxSpec) return misuse("'spec' is longer than 1 MiB");
    return {};
  }
  if (kind == "stop") {
    if (text_of("id").empty()) return misuse("'stop' needs 'id', that of the command which started the run");
    return {};
  }
  if (kind == "doctor") return {};
  return misuse(fmt::format("there is no command '{}'", kind), "Commands are doctor, run and stop.");
}

struct Report {
  State state = State::running;
  std::optional<int> exit_code;
  std::string output;
  std::string message;
};

Result<Report> report_from(std::string_view body) {
  auto value = parse_json(body);
  if (!value) return misuse(value.error().text());
  JsonFields fields(*value, "report");
  const std::string state = fields.text("state");
  Report report;
  if (const auto* given = fields.find("exit_code"); given != nullptr && !given->is_null()) {
    report.exit_code = fields.small_integer("exit_code");
  }
  report.output = shortened(fields.text_or("output", ""), kMaxOutput);
  report.message = shortened(fields.text_or("message", ""), kMaxMessage);
  if (const auto good = fields.finish(); !good) return misuse(good.error().text());
  const auto known =
      std::find_if(kStates.begin(), kStates.end(), [&](const auto& entry) { return entry.second == state; });
  if (known == kStates.end() || known->first == State::waiting || known->first == State::expired) {
    return misuse(fmt::format("'{}' is no state of a report", printable(state.substr(0, 64))),
                  "States are running, done, failed and refused.");
  }
  report.state = known->first;
  return report;
}

}  // namespace

std::string_view name_of(AgentCommand::State state) {
  return std::find_if(kStates.begin(), kStates.end(), [&](const auto& known) { return known.first == state; })->second;
}

json::object to_json(const AgentCommand& command) {
  json::object object{{"id", command.id},
                      {"node", command.node},
                      {"kind", command.kind},
                      {"by", command.by},
                      {"created", iso8601(command.created)},
                      {"state", name_of(command.state)},
                      {"message", command.message},
                      {"output", command.output}};
  object["exit_code"] = command.exit_code ? json::value(*command.exit_code) : json::value(nullptr);
  return object;
}

Result<AgentCommand> CommandDesk::create(std::string_view node, std::string_view kind, json::object arguments,
                                         std::string by) {
  const auto found = registry_.find(node);
  if (!found) return Error{.kind = ErrorKind::not_found, .message = fmt::format("there is no node '{}'", node)};
  ASSAY_CHECK(check_arguments(kind, arguments));
  // Who may start something may stop it.
  const std::string needed = kind == "stop" ? "run" : std::string(kind);
  const auto record = found->record();
  if (std::find(record.allow.begin(), record.allow.end(), needed) == record.allow.end()) {
    return Error{.kind = ErrorKind::denied,
                 .message = fmt::format("the agent of '{}' does not allow '{}'", node, needed),
                 .hint = fmt::format("Start it with --allow {}.", needed)};
  }
  const std::lock_guard lock(mutex_);
  const auto waiting = std::count_if(commands_.begin(), commands_.end(), [&](const auto& entry) {
    return entry.second.node == node && !entry.second.is_over();
  });
  if (static_cast<std::size_t>(waiting) >= kMaxWaiting) {
    return Error{.kind = ErrorKind::busy, .message = fmt::format("{} commands wait for '{}' already", waiting, node)};
  }
  AgentCommand command{.id = new_id(),
                       .node = std::string(node),
                       .kind = std::string(kind),
                       .arguments = std::move(arguments),
                       .by = std::move(by),
                       .created = clock_.wall()};
  offer(command);
  commands_[command.id] = command;
  return command;
}

bool CommandDesk::offer(const AgentCommand& command) {
  const auto listener = listeners_.find(command.node);
  if (listener == listeners_.end()) return false;
  const json::object data{{"id", command.id}, {"kind", command.kind}, {"arguments", command.arguments}};
  if (listener->second.send({.event = "command", .data = json::serialize(data), .id = command.id})) return true;
  listeners_.erase(listener);
  return false;
}

EventStream CommandDesk::listen(std::string_view node) {
  EventStream stream;
  const std::lock_guard lock(mutex_);
  if (const auto before = listeners_.find(node); before != listeners_.end()) {
    before->second.finish();
    listeners_.erase(before);
  }
  listeners_.emplace(node, stream);
  std::vector<const AgentCommand*> waiting;
  for (const auto& [id, command] : commands_) {
    if (command.node == node && command.state == State::waiting) waiting.push_back(&command);
  }
  std::sort(waiting.begin(), waiting.end(), [](const auto* a, const auto* b) { return a->created < b->created; });
  for (const auto* command : waiting) offer(*command);
  return stream;
}

Result<void> CommandDesk::report(std::string_view node, std::string_view id, std::string_view body) {
  ASSAY_TRY(auto report, report_from(body));
  const std::lock_guard lock(mutex_);
  const auto found = commands_.find(id);
  if (found == commands_.end() || found->second.node != node) {
    return Error{.kind = ErrorKind::not_found, .message = fmt::format("there is no command '{}' for '{}'", id, node)};
  }
  auto& command = found->second;
  // A report that was sent twice, or late, changes nothing.
  if (command.is_over()) return {};
  command.state = report.state;
  command.exit_code = report.exit_code;
  command.output = std::move(report.output);
  command.message = std::move(report.message);
  return {};
}

Result<AgentCommand> CommandDesk::find(std::string_view id) const {
  const std::lock_guard lock(mutex_);
  const auto found = commands_.find(id);
  if (found == commands_.end()) {
    return Error{.kind = ErrorKind::not_found, .message = fmt::format("there is no command '{}'", id)};
  }
  return found->second;
}

std::vector<AgentCommand> CommandDesk::list() const {
  const std::lock_guard lock(mutex_);
  std::vector<AgentCommand> commands;
  commands.reserve(commands_.size());
  for (const auto& [id, command] : commands_) commands.push_back(command);
  std::sort(commands.begin(), commands.end(), [](const auto& a, const auto& b) { return a.created > b.created; });
  return commands;
}

void CommandDesk::expire() {
  const std::lock_guard lock(mutex_);
  const WallTime now = clock_.wall();
  for (auto& [id, command] : commands_) {
    if (command.is_over() || now - command.created < kPatience) continue;
    if (command.state == State::waiting) {
      command.state = State::expired;
      command.message = "no agent took it within ten minutes";
    } else if (const auto node = registry_.find(command.node); !node || now - node->record().last_seen > kPatience) {
      command.state = State::failed;
      command.message = "the node was silent for ten minutes while it was under way";
    }
  }
  while (commands_.size() > kMaxKept) {
    const auto oldest = std::min_element(commands_.begin(), commands_.end(), [](const auto& a, const auto& b) {
      return std::pair(!a.second.is_over(), a.second.created) < std::pair(!b.second.is_over(), b.second.created);
    });
    commands_.erase(oldest);
  }
}

void CommandDesk::finish() {
  const std::lock_guard lock(mutex_);
  for (auto& [node, stream] : listeners_) stream.finish();
  listeners_.clear();
}

}  // namespace assay
