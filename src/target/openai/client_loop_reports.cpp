#include "target/openai/client_loop.h"
#include "target/openai/loop_connection.h"

namespace assay {
namespace {

constexpr std::size_t kMostProblems = 8;

}  // namespace

void ClientLoop::cancel_all() {
  for (const auto& owner : connections_) {
    Connection& connection = *owner;
    if (connection.state == Connection::State::busy || connection.state == Connection::State::connecting) {
      report(connection, RequestOutcome::cancelled, RequestError::none);
    }
    connection.link.close();
    connection.state = Connection::State::closed;
  }
  for (const auto& queue : waiting_) {
    for (const Pending& pending : queue) report_unsent(pending, RequestOutcome::cancelled);
  }
  for (; !delayed_.empty(); delayed_.pop()) report_unsent(delayed_.top().pending, RequestOutcome::cancelled);
  Request request;
  while (queue_.pop(request)) {
    send_report({.id = request.id, .done = steady_now(), .outcome = RequestOutcome::cancelled});
  }
}

void ClientLoop::report(const Connection& connection, RequestOutcome outcome, RequestError error) {
  const AnswerReader& answer = connection.answer;
  const std::uint16_t endpoint = connection.pending.endpoint;
  context_.outstanding[endpoint].fetch_sub(1, std::memory_order_relaxed);
  Completion completion{.id = connection.pending.request.id,
                        .sent = connection.pending.acted,
                        .first_token = answer.first_token(),
                        .done = outcome == RequestOutcome::ok ? answer.done() : steady_now(),
                        .input_tokens = answer.input_tokens() > 0 ? answer.input_tokens() : connection.input_estimate,
                        .output_tokens = answer.output_tokens(),
                        .endpoint = endpoint,
                        .outcome = outcome,
                        .error = error};
  if (outcome == RequestOutcome::ok) {
    completion.token_times = answer.token_times();
    completion.text = answer.text();
  }
  send_report(completion);
}

void ClientLoop::report_unsent(const Pending& pending, RequestOutcome outcome) {
  context_.outstanding[pending.endpoint].fetch_sub(1, std::memory_order_relaxed);
  ++counts_.endpoints[pending.endpoint].failed;
  const SteadyTime now = steady_now();
  send_report({.id = pending.request.id,
               .sent = pending.acted == SteadyTime() ? now : pending.acted,
               .done = now,
               .endpoint = pending.endpoint,
               .outcome = outcome});
}

/// Those that lend memory are handed on at once, the others together at the end of the round.
void ClientLoop::send_report(const Completion& completion) {
  if (completion.token_times.empty() && completion.text.empty()) {
    reports_.push_back(completion);
  } else {
    context_.sink->complete(completion);
  }
}

void ClientLoop::flush() {
  if (reports_.empty()) return;
  context_.sink->complete(std::span<const Completion>(reports_));
  reports_.clear();
}

void ClientLoop::note_problem(const std::string& problem) {
  const auto found = counts_.problems.find(problem);
  if (found != counts_.problems.end()) {
    ++found->second;
  } else if (counts_.problems.size() < kMostProblems) {
    counts_.problems.emplace(problem, 1);
  }
}

}  // namespace assay
