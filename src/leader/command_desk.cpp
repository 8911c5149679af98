#include "leader/command_desk.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "base/ids.h"
#include "base/shortened.h"
#include "base/text.h"
#include "leader/node.h"
#include "net/sse.h"

namespace assay {
namespace {

constexpr std::size_t kMaxMessage = 4096;
/// The longest command, which JSON may make six times as long, and a little more.
constexpr std::size_t kQueueBytes = std::size_t{8} << 20;

using State = AgentCommand::State;

Error misuse(std::string message, std::string hint = "") {
  return {.kind = ErrorKind::usage, .message = std::move(message), .hint = std::move(hint)};
}

Result<Command::Kind> check_kind(std::string_view kind, const json::object& arguments) {
  const auto known = command_kind_from(kind);
  if (!known) {
    return misuse(fmt::format("there is no command '{}'", kind), "There is doctor; runs are asked for as runs.");
  }
  if (!arguments.empty()) return misuse(fmt::format("'{}' takes no arguments", kind));
  return *known;
}

State state_after(CommandReport::State reported) {
  switch (reported) {
    case CommandReport::State::running: return State::running;
    case CommandReport::State::done: return State::done;
    case CommandReport::State::failed: return State::failed;
    case CommandReport::State::refused: return State::refused;
  }
  return State::failed;
}

}  // namespace

Result<AgentCommand> CommandDesk::create(std::string_view node, std::string_view kind, const json::object& arguments,
                                         std::string by) {
  const auto found = registry_.find(node);
  if (!found) return Error{.kind = ErrorKind::not_found, .message = fmt::format("there is no node '{}'", node)};
  ASSAY_TRY(const auto known, check_kind(kind, arguments));
  const auto record = found->record();
  if (std::find(record.allow.begin(), record.allow.end(), kind) == record.allow.end()) {
    return Error{.kind = ErrorKind::denied,
                 .message = fmt::format("the agent of '{}' does not allow '{}'", node, kind),
                 .hint = fmt::format("Start it with --allow {}.", kind)};
  }
  AgentCommand command{
      .id = new_id(), .node = std::string(node), .kind = known, .by = std::move(by), .created = clock_.wall()};
  const std::lock_guard lock(mutex_);
  std::size_t waiting = 0;
  std::size_t waiting_here = 0;
  for (const auto& [id, other] : commands_) {
    if (other.is_over()) continue;
    ++waiting;
    if (other.node == node) ++waiting_here;
  }
  if (waiting_here >= kMaxWaiting) {
    return Error{.kind = ErrorKind::busy,
                 .message = fmt::format("{} commands wait for '{}' already", waiting_here, node)};
  }
  if (waiting >= kMaxKept) {
    return Error{.kind = ErrorKind::busy, .message = fmt::format("{} commands are under way already", waiting)};
  }
  commands_[command.id] = command;
  offer_waiting(node);
  return command;
}

/// Oldest first, as far as it fits into the stream beside what the agent has not answered yet: a stream that is full is
/// cut off, and all of it would be sent again, for ever.
void CommandDesk::offer_waiting(std::string_view node) {
  const auto found = listeners_.find(node);
  if (found == listeners_.end()) return;
  auto& [stream, still_allowed, unanswered] = found->second;
  if (still_allowed && !still_allowed()) {
    stream.finish();
    listeners_.erase(found);
    return;
  }
  std::vector<const AgentCommand*> waiting;
  for (const auto& [id, command] : commands_) {
    if (command.node == node && command.state == State::waiting && !unanswered.contains(id)) {
      waiting.push_back(&command);
    }
  }
  std::sort(waiting.begin(), waiting.end(), [](const auto* a, const auto* b) { return a->created < b->created; });
  std::size_t queued = std::accumulate(unanswered.begin(), unanswered.end(), std::size_t{0},
                                       [](std::size_t sum, const auto& sent) { return sum + sent.second; });
  for (const auto* command : waiting) {
    const auto data = to_json(Command{.id = command->id, .kind = command->kind});
    const ServerEvent event{.event = kCommandEvent, .data = json::serialize(data), .id = command->id};
    const std::size_t bytes = format_event(event).size();
    queued += bytes;
    if (queued > kQueueBytes) return;
    if (!stream.send(event)) {
      listeners_.erase(found);
      return;
    }
    unanswered[command->id] = bytes;
  }
}

/// What has left the state of waiting makes room for others.
void CommandDesk::answered(const AgentCommand& command) {
  const auto listener = listeners_.find(command.node);
  if (listener != listeners_.end() && listener->second.unanswered.erase(command.id) > 0) offer_waiting(command.node);
}

EventStream CommandDesk::listen(std::string_view node, std::function<bool()> still_allowed) {
  EventStream stream(kQueueBytes);
  const std::lock_guard lock(mutex_);
  if (const auto before = listeners_.find(node); before != listeners_.end()) {
    before->second.stream.finish();
    listeners_.erase(before);
  }
  listeners_.emplace(node, Listener{.stream = stream, .still_allowed = std::move(still_allowed), .unanswered = {}});
  offer_waiting(node);
  return stream;
}

Result<void> CommandDesk::report(std::string_view node, std::string_view id, std::string_view body) {
  const Error unknown{.kind = ErrorKind::not_found,
                      .message = fmt::format("there is no command '{}' for '{}'", id, node)};
  const auto is_its_own = [&](const auto& entry) { return entry != commands_.end() && entry->second.node == node; };
  {
    // Before the work of reading it.
    const std::lock_guard lock(mutex_);
    if (!is_its_own(commands_.find(id))) return unknown;
  }
  ASSAY_TRY(const auto report, parse_command_report(body));
  const std::lock_guard lock(mutex_);
  const auto found = commands_.find(id);
  if (!is_its_own(found)) return unknown;
  auto& command = found->second;
  // A report that was sent twice, or late, changes nothing.
  if (command.is_over() && command.state != State::expired) return {};
  command.state = state_after(report.state);
  command.exit_code = report.exit_code;
  command.output = shortened(report.output, kMaxCommandOutput);
  command.message = shortened(report.message, kMaxMessage);
  answered(command);
  forget_oldest();
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
  for (const auto& [id, command] : commands_) {
    commands.push_back({.id = command.id,
                        .node = command.node,
                        .kind = command.kind,
                        .by = command.by,
                        .created = command.created,
                        .state = command.state,
                        .exit_code = command.exit_code,
                        .output = {},
                        .message = command.message});
  }
  std::sort(commands.begin(), commands.end(), [](const auto& a, const auto& b) { return a.created > b.created; });
  return commands;
}

void CommandDesk::expire() {
  const std::lock_guard lock(mutex_);
  const WallTime now = clock_.wall();
  for (auto& [id, command] : commands_) {
    if (command.is_over() || now - command.created < kPatience) continue;
    if (command.state == State::waiting) {
      command.message = "no agent took it within ten minutes";
    } else if (const auto node = registry_.find(command.node); !node || now - node->record().last_seen > kPatience) {
      command.message = "the node was silent for ten minutes while it was under way";
    } else {
      continue;
    }
    command.state = State::expired;
    answered(command);
  }
  forget_oldest();
  drop_who_is_not_allowed();
}

/// A key that was revoked must not hear what others are asked to do.
void CommandDesk::drop_who_is_not_allowed() {
  if (clock_.now() - rights_checked_ < kRecheck) return;
  rights_checked_ = clock_.now();
  for (auto entry = listeners_.begin(); entry != listeners_.end();) {
    auto& [stream, still_allowed, unanswered] = entry->second;
    const bool ends = still_allowed && !still_allowed();
    if (ends) stream.finish();
    entry = ends ? listeners_.erase(entry) : std::next(entry);
  }
}

void CommandDesk::forget_oldest() {
  std::size_t output = 0;
  std::vector<AgentCommand*> over;
  for (auto& [id, command] : commands_) {
    if (!command.is_over()) continue;
    over.push_back(&command);
    output += command.output.size();
  }
  if (commands_.size() <= kMaxKept && output <= kMaxKeptOutput) return;
  std::sort(over.begin(), over.end(), [](const auto* a, const auto* b) { return a->created < b->created; });
  std::size_t too_many = commands_.size() - std::min(commands_.size(), kMaxKept);
  for (auto* command : over) {
    if (too_many == 0 && output <= kMaxKeptOutput) return;
    output -= command->output.size();
    if (too_many > 0) {
      --too_many;
      commands_.erase(commands_.find(command->id));
    } else {
      command->output.clear();
    }
  }
}

void CommandDesk::finish() {
  const std::lock_guard lock(mutex_);
  for (auto& [node, listener] : listeners_) listener.stream.finish();
  listeners_.clear();
}

}  // namespace assay
