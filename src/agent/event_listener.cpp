#include "agent/event_listener.h"

#include <utility>

#include <algorithm>

#include "base/hash.h"
#include "base/ids.h"
#include "base/log.h"
#include "net/client_messages.h"
#include "net/http_client.h"
#include "net/sse.h"

namespace assay {

EventListener::EventListener(ListenerOptions options, std::unique_ptr<HttpClient> client)
    : options_(std::move(options)),
      client_(std::move(client)),
      pauses_(options_.first_pause, options_.longest_pause, stable_hash(new_id())) {}

Result<std::unique_ptr<EventListener>> EventListener::start(ListenerOptions options) {
  ASSAY_TRY(auto client, make_leader_client(options.access, options.request_time));
  std::unique_ptr<EventListener> listener(new EventListener(std::move(options), std::move(client)));
  listener->thread_.emplace(
      "agent-" + listener->options_.what, [self = listener.get()](const std::stop_token& stop) { self->run(stop); },
      SupervisedThread::OnFailure{.restart_after = std::chrono::seconds(1)});
  return listener;
}

EventListener::~EventListener() { stop(); }

void EventListener::stop() {
  if (!thread_) return;
  thread_->request_stop();
  client_->cancel();
  thread_.reset();
}

void EventListener::rest(const std::stop_token& stop) {
  const SystemClock clock;
  const SteadyTime end = clock.now() + pauses_.next();
  while (!stop.stop_requested() && clock.now() < end) {
    {
      std::unique_lock lock(mutex_);
      changed_.wait_for(lock, stop, std::min(options_.look, end - clock.now()), [] { return false; });
    }
    options_.on_look();
  }
}

void EventListener::run(const std::stop_token& stop) {
  for (; !stop.stop_requested(); rest(stop)) {
    // Read before the stream is opened: an arrival in between may already have left this stream dead.
    const std::uint64_t arrivals = options_.arrivals();
    if (arrivals == 0) continue;
    try {
      auto events = client_->open_events(agent_request(options_.access, "GET", options_.target));
      if (!events) {
        // Said once, however often it is tried.
        if (!std::exchange(is_away_, true)) log_info("no {} can come: {}", options_.what, events.error().text());
        continue;
      }
      if (std::exchange(is_away_, false)) log_info("{} can come again", options_.what);
      pauses_.reset();
      listen(*events, arrivals, stop);
    } catch (const std::exception& problem) {
      log_error("listening for {}: {}", options_.what, problem.what());
    }
  }
}

void EventListener::listen(EventSource& events, std::uint64_t arrivals, const std::stop_token& stop) {
  const SystemClock clock;
  SteadyTime last = clock.now();
  while (!stop.stop_requested()) {
    const auto event = events.next(options_.look);
    if (event) {
      last = clock.now();
      options_.on_event(*event);
    } else if (event.error().kind != ErrorKind::timeout) {
      return;
    }
    options_.on_look();
    if (options_.arrivals() != arrivals || clock.now() - last > options_.longest_quiet) return;
  }
}

}  // namespace assay
