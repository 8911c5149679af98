#include "node_doctor.h"

#include <fmt/format.h>
#include <poll.h>

#include "api/cluster_types.h"
#include "base/text.h"
#include "client/ask.h"
#include "doctor_view.h"
#include "net/url_text.h"
#include "run_services.h"
#include "run_view.h"
#include "spec/spec.h"
#include "stop_signals.h"

namespace assay {
namespace {

constexpr int kLookMs = 300;
/// How long a node may be silent in the middle of its work; its agent may just be restarted.
constexpr Nanos kMostSilence = std::chrono::seconds(60);

/// What the agent's own `assay … --json` printed; null if it is no such answer.
const json::object* result_in(const json::value& answer) {
  const auto* result = answer.is_object() ? answer.as_object().if_contains("result") : nullptr;
  return result != nullptr && result->is_object() ? &result->as_object() : nullptr;
}

void print_answer(const Context& context, const std::string& output) {
  const auto answer = parse_json(output);
  const auto* result = answer ? result_in(*answer) : nullptr;
  if (result == nullptr) {
    if (!output.empty()) print(printable(output) + "\n");
    return;
  }
  if (const auto* findings = result->if_contains("findings"); findings != nullptr && findings->is_array()) {
    print_findings(context, findings->as_array());
  } else {
    print(printable(output) + "\n");
  }
}

Error explain(const std::string& node, CommandView::State state, const std::string& message) {
  if (state == CommandView::State::refused && message.starts_with("busy")) {
    return {.kind = ErrorKind::busy,
            .message = fmt::format("{}: {}", node, message),
            .hint = fmt::format("`assay nodes show {}` says what it does.", node)};
  }
  if (state == CommandView::State::refused)
    return {.kind = ErrorKind::denied, .message = fmt::format("{}: {}", node, message)};
  return {.kind = ErrorKind::crash, .message = fmt::format("{}: {}", node, message.empty() ? name_of(state) : message)};
}

int finish(const Context& context, const std::string& node, CommandView command) {
  using State = CommandView::State;
  const std::string output = command.output.value_or("");
  const std::string message = printable(command.message);
  const bool failed = command.state == State::failed;
  if (command.state == State::refused || command.state == State::expired || (failed && output.empty())) {
    return context.fail(explain(node, command.state, message));
  }
  const int code = command.exit_code.value_or(0);
  const int exit_code = failed && code == 0 ? 1 : code;
  if (context.json) {
    // An object rather than a text with an object in it.
    auto answer = parse_json(output);
    const bool is_object = answer && answer->is_object();
    if (is_object) command.output.reset();
    json::object result = write_api(command);
    if (is_object) result["answer"] = std::move(*answer);
    return context.answer(exit_code, std::move(result), nullptr);
  }
  print_answer(context, output);
  if (!message.empty()) print_error(message + "\n");
  return exit_code;
}

class Follower {
 public:
  Follower(const Context& context, Connection& client, const std::string& node, std::string id)
      : context_(context), client_(client), node_(node), id_(std::move(id)), heard_(context.clock.now()) {}

  int follow() {
    std::optional<CommandView::State> last;
    while (true) {
      auto command = ask<CommandView>(client_, "/api/v1/commands/" + percent_encode(id_));
      if (!command) return context_.fail(command.error());
      if (command->is_over()) return finish(context_, node_, std::move(*command));
      if (!context_.json && !context_.quiet && command->state != last) {
        print_error(fmt::format("{} on {}: {}\n", id_, node_, name_of(command->state)));
      }
      last = command->state;
      if (const auto error = lost_node()) return context_.fail(*error);
      if (stopped()) return context_.fail(interrupted());
    }
  }

 private:
  std::optional<Error> lost_node() {
    const auto node = ask<NodeAnswer>(client_, "/api/v1/nodes/" + percent_encode(node_));
    if (!node) return node.error();
    if (node->state != NodeState::offline) heard_ = context_.clock.now();
    if (context_.clock.now() - heard_ < kMostSilence) return std::nullopt;
    return Error{.kind = ErrorKind::lost_peer,
                 .message = fmt::format("{} went silent", node_),
                 .hint = fmt::format("`assay nodes show {}` says when it was last heard of.", node_)};
  }

  bool stopped() const {
    pollfd waiting{.fd = stop_.fd(), .events = POLLIN, .revents = 0};
    return ::poll(&waiting, 1, kLookMs) > 0 || stop_.requested();
  }

  Error interrupted() const {
    return {.kind = ErrorKind::interrupted, .message = fmt::format("no longer waiting for {}", id_)};
  }

  const Context& context_;
  Connection& client_;
  const std::string& node_;
  const std::string id_;
  SteadyTime heard_;
  StopSignals stop_;
};

}  // namespace

int ask_for_doctor(const Context& context, Connection& client, const std::string& node) {
  const auto command = tell<CommandView>(client, "POST", fmt::format("/api/v1/nodes/{}/commands", percent_encode(node)),
                                         CommandRequest{.kind = "doctor"});
  if (!command) return context.fail(command.error());
  return Follower(context, client, node, command->id).follow();
}

}  // namespace assay
