#include "leader/outlets.h"

#include <fmt/format.h>

#include <utility>

#include "base/json.h"
#include "base/log.h"

namespace assay {

/// One outlet, what waits for it, and its thread.
class Outlets::Lane {
 public:
  explicit Lane(std::unique_ptr<Outlet> outlet)
      : outlet_(std::move(outlet)),
        thread_("leader-outlet", [this](const std::stop_token& stop) { run(stop); },
                {.restart_after = std::chrono::seconds(1)}) {}

  void request_stop() { thread_.request_stop(); }

  void put(const std::string& body, const Alert& alert) {
    const std::lock_guard lock(mutex_);
    if (waiting_.size() >= kMaxWaiting) {
      log_warning("An alert was not sent to {}, since {} others wait already: {}", outlet_->name(), waiting_.size(),
                  alert.what);
      return;
    }
    waiting_.push_back(body);
    wake_.notify_one();
  }

  std::string problem() const {
    const std::lock_guard lock(mutex_);
    return problem_;
  }

 private:
  void run(const std::stop_token& stop) {
    while (const auto body = next(stop)) {
      const auto delivered = outlet_->deliver(*body, stop);
      std::string problem;
      if (!delivered) {
        problem = fmt::format("An alert did not reach {}: {}.", outlet_->name(), delivered.error().text());
        log_warning("{}", problem);
      }
      const std::lock_guard lock(mutex_);
      problem_ = std::move(problem);
    }
  }

  /// Nothing when it is time to stop.
  std::optional<std::string> next(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    wake_.wait(lock, stop, [&] { return !waiting_.empty(); });
    if (stop.stop_requested()) {
      if (!waiting_.empty()) {
        log_warning("{} alerts were not sent to {}, since the leader ends.", waiting_.size(), outlet_->name());
      }
      return std::nullopt;
    }
    std::string body = std::move(waiting_.front());
    waiting_.pop_front();
    return body;
  }

  const std::unique_ptr<Outlet> outlet_;
  mutable std::mutex mutex_;
  std::condition_variable_any wake_;
  std::deque<std::string> waiting_;
  std::string problem_;
  SupervisedThread thread_;  ///< last: it uses the others
};

Outlets::Outlets(std::vector<std::unique_ptr<Outlet>> outlets) {
  for (auto& outlet : outlets) lanes_.push_back(std::make_unique<Lane>(std::move(outlet)));
}

Outlets::~Outlets() {
  // All at once: the end of one must not wait for that of another.
  for (auto& lane : lanes_) lane->request_stop();
}

void Outlets::send(std::string_view change, const Alert& alert) {
  if (lanes_.empty()) return;
  const std::string body = outlet_body(change, alert);
  for (auto& lane : lanes_) lane->put(body, alert);
}

std::string Outlets::problem() const {
  std::string problems;
  for (const auto& lane : lanes_) {
    const std::string problem = lane->problem();
    if (!problem.empty()) problems += (problems.empty() ? "" : " ") + problem;
  }
  return problems;
}

std::string outlet_body(std::string_view change, const Alert& alert) {
  const std::string text = change == "resolved" ? fmt::format("Resolved on {}: {}", alert.node, alert.what)
                                                : fmt::format("{} on {}: {} {}", name_of(alert.severity), alert.node,
                                                              alert.what, alert.remedy);
  return json::serialize(json::object{{"change", change}, {"text", text}, {"alert", json_of(alert)}});
}

}  // namespace assay
