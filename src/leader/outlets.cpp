#include "leader/outlets.h"

#include <fmt/format.h>

#include <stop_token>
#include <utility>

#include "base/log.h"
#include "base/subprocess.h"
#include "base/text.h"
#include "leader/readable.h"
#include "net/http_client.h"
#include "net/url.h"

namespace assay {
namespace {

/// Sends one alert to one webhook. Whatever the error says goes to the log, so it has neither path nor query: in chat
/// systems they are the secret. Nor does it have what was answered, which may repeat them.
Result<void> post(const std::string& address, const std::string& body, Nanos deadline, const std::stop_token& stop) {
  ASSAY_TRY(auto url, parse_url(address));
  ClientOptions options;
  options.server = url.place();
  options.request_time = deadline;
  // A client's URL has no query, a webhook's may: path and query belong to the request.
  std::string target = std::exchange(url.target, "/");
  ASSAY_TRY(auto client, HttpClient::create(std::move(url), std::move(options)));
  const std::stop_callback cancelling(stop, [&client] { client->cancel(); });
  auto response = client->send(
      {.method = "POST", .target = std::move(target), .headers = {{"Content-Type", "application/json"}}, .body = body});
  if (!response) {
    response.error().context.clear();
    return std::move(response).error();
  }
  if (response->status >= 200 && response->status < 300) return {};
  return Error{.kind = ErrorKind::io,
               .message = fmt::format("it answered {} {}", response->status, reason_phrase(response->status))};
}

/// Without the path, for the reason above.
std::string place_of(const std::string& webhook) {
  const auto url = parse_url(webhook);
  return url ? url->place() : "the webhook";
}

}  // namespace

std::string outlet_body(std::string_view change, const Alert& alert) {
  const std::string text = change == "resolved" ? fmt::format("Resolved on {}: {}", alert.node, alert.what)
                                                : fmt::format("{} on {}: {} {}", name_of(alert.severity), alert.node,
                                                              alert.what, alert.remedy);
  return json::serialize(json::object{{"change", change}, {"text", text}, {"alert", json_of(alert)}});
}

Result<std::unique_ptr<Outlets>> Outlets::start(OutletOptions options) {
  for (const auto& webhook : options.webhooks) {
    ASSAY_TRY(const auto url, parse_url(webhook));
    if (url.scheme == Url::Scheme::unix_socket) {
      return Error{.kind = ErrorKind::usage,
                   .message = fmt::format("'{}' cannot be a webhook", webhook),
                   .hint = "Give a URL that begins with http:// or https://."};
    }
  }
  return std::unique_ptr<Outlets>(new Outlets(std::move(options)));
}

Outlets::Outlets(OutletOptions options)
    : options_(std::move(options)),
      thread_("leader-outlets", [this](const std::stop_token& stop) { run(stop); },
              {.restart_after = std::chrono::seconds(1)}) {}

Outlets::~Outlets() {
  thread_.request_stop();
  wake_.notify_all();
}

void Outlets::send(std::string_view change, const Alert& alert) {
  if (options_.webhooks.empty() && options_.command.empty()) return;
  std::string body = outlet_body(change, alert);
  const std::lock_guard lock(mutex_);
  if (waiting_.size() >= kMaxWaiting) {
    log_warning("An alert was not sent on, since {} others wait already: {}", waiting_.size(), alert.what);
    return;
  }
  waiting_.push_back(std::move(body));
  wake_.notify_one();
}

void Outlets::run(const std::stop_token& stop) {
  while (true) {
    std::string body;
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, stop, [&] { return !waiting_.empty(); });
      if (stop.stop_requested()) {
        if (!waiting_.empty()) log_warning("{} alerts were not sent on, since the leader ends.", waiting_.size());
        return;
      }
      body = std::move(waiting_.front());
      waiting_.pop_front();
    }
    const std::string problem = join(deliver(body, stop), " ");
    const std::lock_guard lock(mutex_);
    problem_ = problem;
  }
}

std::string Outlets::problem() const {
  const std::lock_guard lock(mutex_);
  return problem_;
}

std::vector<std::string> Outlets::deliver(const std::string& body, const std::stop_token& stop) const {
  std::vector<std::string> problems;
  const auto note = [&](std::string problem) {
    log_warning("{}", problem);
    problems.push_back(std::move(problem));
  };
  // The command first: a webhook that does not answer must not keep it waiting.
  if (std::string problem = run_alert_command(body); !problem.empty()) note(std::move(problem));
  for (const auto& webhook : options_.webhooks) {
    Nanos pause = options_.first_pause;
    for (int attempt = 1; !stop.stop_requested(); ++attempt) {
      const auto sent = post(webhook, body, options_.deadline, stop);
      if (sent) break;
      if (attempt == options_.attempts) {
        note(fmt::format("An alert did not reach {}: {}.", place_of(webhook), sent.error().text()));
        break;
      }
      if (!sleep_for(stop, pause)) break;
      pause *= 2;
    }
  }
  return problems;
}

std::string Outlets::run_alert_command(const std::string& body) const {
  if (options_.command.empty()) return {};
  const auto output = run_command(options_.command, {.deadline = options_.deadline, .input = body});
  if (!output) return fmt::format("The command for alerts failed: {}", output.error().text());
  if (output->exit_code == 0) return {};
  return fmt::format("The command for alerts ended with exit code {}: {}", output->exit_code.value_or(-1),
                     shortened(output->error, 1024));
}

}  // namespace assay
