#include "leader/outlets.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "base/json.h"
#include "base/log.h"
#include "store/notice_table.h"

namespace assay {

/// One outlet, what waits for it, and its thread.
class Outlets::Lane {
 public:
  /// Begins with what waits since before.
  Lane(std::unique_ptr<Outlet> outlet, std::string key, std::deque<NoticeRecord> waiting, NoticeTable& table,
       const Clock& clock, OutletPatience patience)
      : outlet_(std::move(outlet)),
        key_(std::move(key)),
        table_(table),
        clock_(clock),
        patience_(patience),
        waiting_(std::move(waiting)),
        thread_("leader-outlet", [this](const std::stop_token& stop) { run(stop); },
                {.restart_after = std::chrono::seconds(1), .report = {}}) {}

  void request_stop() { thread_.request_stop(); }
  const std::string& key() const { return key_; }

  /// How many more may wait. Says so where there are fewer than wanted.
  std::size_t room(std::size_t wanted) {
    const std::lock_guard lock(mutex_);
    const std::size_t most = kMaxWaiting + (under_way_ ? 1 : 0);
    const std::size_t left = most - std::min(most, waiting_.size());
    // Said once until there is room again.
    if (wanted > left && !std::exchange(is_full_, true)) {
      log_warning("Alerts are not sent to {} any more, since {} others wait already.", outlet_->name(), most);
    }
    if (wanted <= left) is_full_ = false;
    return std::min(wanted, left);
  }
  void put(std::vector<NoticeRecord> notices) {
    const std::lock_guard lock(mutex_);
    for (auto& notice : notices) waiting_.push_back(std::move(notice));
    try_now_ = true;
    wake_.notify_one();
  }

  std::optional<Problem> problem() const {
    const std::lock_guard lock(mutex_);
    return problem_;
  }

 private:
  void run(const std::stop_token& stop) {
    Nanos pause{};
    while (const auto notice = next(stop, pause)) {
      const auto delivered = outlet_->deliver(notice->body, stop);
      if (delivered) {
        forget(*notice);
        pause = {};
      } else if (!stop.stop_requested()) {
        pause = std::clamp(2 * pause, patience_.first_pause, patience_.longest_pause);
      }
      settle(delivered, stop.stop_requested());
    }
  }

  /// After each attempt.
  void settle(const Result<void>& delivered, bool ends) {
    const std::lock_guard lock(mutex_);
    under_way_ = false;
    if (delivered) {
      waiting_.pop_front();
      problem_.reset();
      return;
    }
    if (ends) return;
    std::string text = fmt::format("An alert did not reach {}: {}.", outlet_->name(), delivered.error().text());
    if (problem_ && problem_->text == text) return;
    log_warning("{} It is tried again.", text);
    problem_ = {.outlet = key_, .text = std::move(text), .since = problem_ ? problem_->since : clock_.wall()};
  }

  /// The oldest that waits, after the pause or when there is something new; nothing when it is time to stop.
  std::optional<NoticeRecord> next(const std::stop_token& stop, Nanos pause) {
    std::unique_lock lock(mutex_);
    if (pause > Nanos{}) wake_.wait_for(lock, stop, pause, [&] { return try_now_; });
    drop_old();
    wake_.wait(lock, stop, [&] { return !waiting_.empty(); });
    try_now_ = false;
    if (stop.stop_requested()) {
      if (!waiting_.empty()) {
        log_warning("{} alerts were not sent to {}, since the leader ends; they will be when it is started again.",
                    waiting_.size(), outlet_->name());
      }
      return std::nullopt;
    }
    under_way_ = true;
    return waiting_.front();
  }

  void drop_old() {
    std::size_t dropped = 0;
    while (!waiting_.empty() && clock_.wall() - waiting_.front().time > patience_.keep) {
      forget(waiting_.front());
      waiting_.pop_front();
      ++dropped;
    }
    if (dropped > 0) log_warning("{} alerts that {} did not take in time are given up.", dropped, outlet_->name());
  }

  /// One that stays in the table is sent again after a restart: better twice than never.
  void forget(const NoticeRecord& notice) {
    if (notice.id == 0) return;
    if (const auto removed = table_.remove(notice.id); !removed) log_debug("{}", removed.error().text());
  }

  const std::unique_ptr<Outlet> outlet_;
  const std::string key_;
  NoticeTable& table_;
  const Clock& clock_;
  const OutletPatience patience_;
  mutable std::mutex mutex_;
  std::condition_variable_any wake_;
  std::deque<NoticeRecord> waiting_;
  bool under_way_ = false;  ///< the first of them
  bool try_now_ = false;
  bool is_full_ = false;
  std::optional<Problem> problem_;
  SupervisedThread thread_;  ///< last: it uses the others
};

Outlets::Outlets(NoticeTable& table, const Clock& clock) : table_(table), clock_(clock) {}

Result<std::unique_ptr<Outlets>> Outlets::load(std::vector<std::unique_ptr<Outlet>> outlets, NoticeTable& table,
                                               const Clock& clock, OutletPatience patience) {
  std::unique_ptr<Outlets> made(new Outlets(table, clock));
  ASSAY_TRY(auto kept, table.list());
  std::map<std::string, std::deque<NoticeRecord>> waiting;
  for (auto& notice : kept) {
    auto& of_outlet = waiting[notice.outlet];
    of_outlet.push_back(std::move(notice));
  }
  std::map<std::string, int> names;
  for (auto& outlet : outlets) {
    // Two webhooks may be on one host, and names do not tell their secrets.
    std::string key = outlet->name();
    if (const int number = ++names[key]; number > 1) key += fmt::format(" ({})", number);
    auto before = std::exchange(waiting[key], {});
    made->lanes_.push_back(
        std::make_unique<Lane>(std::move(outlet), std::move(key), std::move(before), table, clock, patience));
  }
  for (const auto& [key, left] : waiting) {
    for (const auto& notice : left) ASSAY_CHECK(table.remove(notice.id));
    if (!left.empty()) log_warning("{} alerts for {} are given up: it is told no more.", left.size(), key);
  }
  return made;
}

Outlets::~Outlets() {
  // All at once: the end of one must not wait for that of another.
  for (auto& lane : lanes_) lane->request_stop();
}

void Outlets::send(std::span<const News> news) {
  if (lanes_.empty() || news.empty()) return;
  std::vector<std::string> bodies;
  bodies.reserve(news.size());
  for (const auto& [change, alert] : news) bodies.push_back(outlet_body(change, alert));
  std::vector<NoticeRecord> notices;
  std::vector<std::size_t> counts;
  for (auto& lane : lanes_) {
    const std::size_t count = lane->room(bodies.size());
    counts.push_back(count);
    for (std::size_t i = 0; i < count; ++i) {
      notices.push_back({.outlet = lane->key(), .body = bodies[i], .time = clock_.wall()});
    }
  }
  if (const auto added = table_.add(notices); !added) {
    log_warning("Alerts that are being sent are in memory alone: {}", added.error().text());
  }
  auto next = std::make_move_iterator(notices.begin());
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    const auto end = next + static_cast<std::ptrdiff_t>(counts[i]);
    lanes_[i]->put(std::vector<NoticeRecord>(next, end));
    next = end;
  }
}

std::vector<Outlets::Problem> Outlets::problems() const {
  std::vector<Problem> problems;
  for (const auto& lane : lanes_) {
    if (auto problem = lane->problem()) problems.push_back(std::move(*problem));
  }
  return problems;
}

std::string outlet_body(std::string_view change, const Alert& alert) {
  // What is of no node is the leader's own.
  const std::string where = alert.node.empty() ? "the leader" : alert.node;
  const std::string text =
      change == "resolved" ? fmt::format("Resolved on {}: {}", where, alert.what)
                           : fmt::format("{} on {}: {} {}", name_of(alert.severity), where, alert.what, alert.remedy);
  return json::serialize(json::object{{"change", change}, {"text", text}, {"alert", json_of(alert)}});
}

}  // namespace assay
