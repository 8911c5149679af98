#include "store/memory/cluster_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "store/account_tables.h"
#include "store/alert_table.h"
#include "store/event_log.h"
#include "store/job_table.h"
#include "store/memory/account_memory.h"
#include "store/node_table.h"
#include "store/notice_table.h"
#include "store/refusal_table.h"

namespace assay {
namespace {

Error not_in_memory(std::string_view what, std::string_view name) {
  return {.kind = ErrorKind::not_found, .message = fmt::format("there is no {} '{}'", what, name)};
}
Error overtaken(std::string_view what, std::string_view name) {
  return {.kind = ErrorKind::busy, .message = fmt::format("somebody else has just changed the {} '{}'", what, name)};
}

/// What all tables share.
struct Shared {
  std::mutex mutex;
  std::optional<Error> failure;  ///< of whoever writes
};

/// Rows with revisions, by name. The mutex must be held.
template <typename Row>
class Rows {
 public:
  const Stored<Row>* find(std::string_view name) const {
    const auto found = rows_.find(name);
    return found == rows_.end() ? nullptr : &found->second;
  }
  bool is_current(const Stored<Row>& row, std::string_view name) const {
    const auto* known = find(name);
    return row.revision == (known ? known->revision : 0);
  }
  Revision put(const Stored<Row>& row, const std::string& name) {
    auto& place = rows_[name];
    place = {.row = row.row, .revision = row.revision + 1};
    return place.revision;
  }
  std::map<std::string, Stored<Row>, std::less<>>& all() { return rows_; }

 private:
  std::map<std::string, Stored<Row>, std::less<>> rows_;
};

class NodesInMemory final : public NodeTable {
 public:
  explicit NodesInMemory(Shared& shared) : shared_(shared) {}

  Result<std::vector<Stored<NodeRecord>>> list(std::string_view after, std::size_t limit) override {
    const std::lock_guard lock(shared_.mutex);
    std::vector<Stored<NodeRecord>> nodes;
    auto& all = rows_.all();
    for (auto next = all.upper_bound(after); next != all.end() && nodes.size() < limit; ++next) {
      nodes.push_back(next->second);
    }
    return nodes;
  }
  Result<Stored<NodeRecord>> find(std::string_view name) override {
    const std::lock_guard lock(shared_.mutex);
    const auto* found = rows_.find(name);
    if (found == nullptr) return not_in_memory("node", name);
    return *found;
  }
  Result<Revision> put(const Stored<NodeRecord>& node) override {
    const std::lock_guard lock(shared_.mutex);
    if (shared_.failure) return *shared_.failure;
    if (!rows_.is_current(node, node.row.name)) return overtaken("node", node.row.name);
    return rows_.put(node, node.row.name);
  }
  Result<void> note_seen(std::span<const Seen> seen) override {
    const std::lock_guard lock(shared_.mutex);
    if (shared_.failure) return *shared_.failure;
    for (const auto& one : seen) {
      const auto found = rows_.all().find(one.name);
      if (found != rows_.all().end()) found->second.row.last_seen = one.time;
    }
    return {};
  }
  Result<void> remove(std::string_view name) override {
    const std::lock_guard lock(shared_.mutex);
    if (shared_.failure) return *shared_.failure;
    if (const auto found = rows_.all().find(name); found != rows_.all().end()) rows_.all().erase(found);
    return {};
  }

 private:
  Shared& shared_;
  Rows<NodeRecord> rows_;
};

class AlertsInMemory final : public AlertTable {
 public:
  explicit AlertsInMemory(Shared& shared) : shared_(shared) {}

  Result<std::vector<Stored<AlertRecord>>> open() override {
    const std::lock_guard lock(shared_.mutex);
    std::vector<Stored<AlertRecord>> alerts;
    for (const auto& [id, stored] : rows_.all()) {
      if (stored.row.alert.state == AlertState::open) alerts.push_back(stored);
    }
    return alerts;
  }
  Result<AlertPage> resolved(const AlertPageQuery& query) override {
    const std::lock_guard lock(shared_.mutex);
    std::vector<Stored<AlertRecord>> alerts;
    for (const auto& [id, stored] : rows_.all()) {
      const Alert& alert = stored.row.alert;
      if (alert.state != AlertState::resolved || (!query.node.empty() && alert.node != query.node)) continue;
      if (query.to && alert.since >= *query.to) continue;
      if (query.after && std::tie(query.after->since, alert.id) <= std::tie(alert.since, query.after->id)) continue;
      alerts.push_back(stored);
    }
    // They come in order of ids, which decide among those of one time.
    std::stable_sort(alerts.begin(), alerts.end(),
                     [](const auto& a, const auto& b) { return a.row.alert.since > b.row.alert.since; });
    AlertPage page;
    AlertPlace last;
    for (std::size_t examined = 0; examined < alerts.size(); ++examined) {
      const Alert& alert = alerts[examined].row.alert;
      if (examined == kMostExamined || page.alerts.size() == query.limit) {
        page.next = std::move(last);
        break;
      }
      last = {.since = alert.since, .id = alert.id};
      const bool was_over = query.from && alert.resolved_at < query.from;
      if (!was_over) page.alerts.push_back(alerts[examined]);
    }
    return page;
  }
  Result<Stored<AlertRecord>> find(std::string_view id) override {
    const std::lock_guard lock(shared_.mutex);
    const auto* found = rows_.find(id);
    if (found == nullptr) return not_in_memory("alert", id);
    return *found;
  }
  Result<void> put(std::span<Stored<AlertRecord>> alerts) override {
    const std::lock_guard lock(shared_.mutex);
    if (shared_.failure) return *shared_.failure;
    std::set<std::string_view> names;
    for (const auto& alert : alerts) {
      const std::string& id = alert.row.alert.id;
      if (!rows_.is_current(alert, id) || !names.insert(id).second) return overtaken("alert", id);
    }
    for (auto& alert : alerts) {
      Stored<AlertRecord> kept = alert;
      kept.row.silenced = false;
      alert.revision = rows_.put(kept, alert.row.alert.id);
    }
    return {};
  }
  Result<bool> forget_resolved(WallTime time, std::size_t most) override {
    const std::lock_guard lock(shared_.mutex);
    if (shared_.failure) return *shared_.failure;
    std::size_t gone = 0;
    std::erase_if(rows_.all(), [&](const auto& entry) {
      const Alert& alert = entry.second.row.alert;
      return alert.state == AlertState::resolved && alert.since < time && gone < most && ++gone > 0;
    });
    return gone == most;
  }

 private:
  Shared& shared_;
  Rows<AlertRecord> rows_;
};

class SilencesInMemory final : public SilenceTable {
 public:
  explicit SilencesInMemory(Shared& shared) : shared_(shared) {}

  Result<std::vector<Silence>> list() override {
    const std::lock_guard lock(shared_.mutex);
    std::vector<Silence> silences;
    for (const auto& [id, silence] : silences_) silences.push_back(silence);
    return silences;
  }
  Result<void> add(const Silence& silence) override {
    const std::lock_guard lock(shared_.mutex);
    if (shared_.failure) return *shared_.failure;
    if (silences_.try_emplace(silence.id, silence).second) return {};
    return Error{.kind = ErrorKind::busy, .message = fmt::format("there is a silence '{}' already", silence.id)};
  }
  Result<void> remove(std::string_view id) override {
    const std::lock_guard lock(shared_.mutex);
    if (shared_.failure) return *shared_.failure;
    if (const auto found = silences_.find(id); found != silences_.end()) silences_.erase(found);
    return {};
  }

 private:
  Shared& shared_;
  std::map<std::string, Silence, std::less<>> silences_;
};

class EventsInMemory final : public EventLog {
 public:
  explicit EventsInMemory(Shared& shared) : shared_(shared) {}

  Result<std::vector<ClusterEvent>> append(std::span<const ClusterEvent> events) override {
    const std::lock_guard lock(shared_.mutex);
    if (shared_.failure && !events.empty()) return *shared_.failure;
    std::vector<ClusterEvent> added;
    for (const auto& event : events) {
      if (!known_.insert(identity_of(event)).second) continue;
      added.push_back(event);
      added.back().id = ++last_id_;
      events_[{event.time, last_id_}] = added.back();
    }
    return added;
  }
  Result<EventPage> list(const EventQuery& query) override {
    const std::lock_guard lock(shared_.mutex);
    EventPage page;
    std::size_t examined = 0;
    EventPlace last;
    for (auto next = events_.rbegin(); next != events_.rend(); ++next) {
      const ClusterEvent& event = next->second;
      if (query.after && next->first >= std::pair(query.after->time, query.after->id)) continue;
      if ((query.to && event.time >= *query.to) || (query.from && event.time < *query.from)) continue;
      if (examined++ == kMostExamined || page.events.size() == query.limit) {
        page.next = last;
        return page;
      }
      last = {.time = event.time, .id = event.id};
      const bool fits = (query.node.empty() || event.node == query.node) &&
                        (query.kind.empty() || event.kind == query.kind) &&
                        (query.about.empty() || event.about == query.about);
      if (fits) page.events.push_back(event);
    }
    return page;
  }
  Result<EventPlace> place_of(std::int64_t id) override {
    const std::lock_guard lock(shared_.mutex);
    for (const auto& [place, event] : events_) {
      if (event.id == id) return EventPlace{.time = event.time, .id = id};
    }
    return not_in_memory("event", std::to_string(id));
  }
  Result<bool> forget(const EventRetention& retention, std::size_t most) override {
    const std::lock_guard lock(shared_.mutex);
    if (shared_.failure) return *shared_.failure;
    std::size_t gone = 0;
    const auto drop = [&](const ClusterEvent& event) {
      known_.erase(identity_of(event));
      return ++gone > 0;
    };
    std::erase_if(events_, [&](const auto& entry) {
      return entry.second.time < retention.from && gone < most && drop(entry.second);
    });
    if (retention.most_per_node == 0) return gone == most;
    std::map<std::string, std::size_t> counts;
    for (const auto& entry : events_) ++counts[entry.second.node];
    std::erase_if(events_, [&](const auto& entry) {
      std::size_t& count = counts[entry.second.node];
      return count > retention.most_per_node && gone < most && --count > 0 && drop(entry.second);
    });
    return gone == most;
  }

 private:
  using Identity = std::tuple<WallTime, std::string, std::string, std::string, std::string>;
  static Identity identity_of(const ClusterEvent& event) {
    return {event.time, event.node, event.kind, event.about, event.message};
  }

  Shared& shared_;
  std::map<std::pair<WallTime, std::int64_t>, ClusterEvent> events_;
  std::set<Identity> known_;
  std::int64_t last_id_ = 0;
};

class JobsInMemory final : public JobTable {
 public:
  explicit JobsInMemory(Shared& shared) : shared_(shared) {}

  Result<std::vector<Stored<JobRecord>>> list() override {
    const std::lock_guard lock(shared_.mutex);
    std::vector<Stored<JobRecord>> all;
    for (const auto& [run, job] : rows_.all()) all.push_back(job);
    std::stable_sort(all.begin(), all.end(),
                     [](const auto& a, const auto& b) { return a.row.created < b.row.created; });
    return all;
  }
  Result<Revision> put(const Stored<JobRecord>& job) override {
    const std::lock_guard lock(shared_.mutex);
    if (shared_.failure) return *shared_.failure;
    if (!rows_.is_current(job, job.row.run)) return overtaken("job", job.row.run);
    return rows_.put(job, job.row.run);
  }
  Result<void> remove(std::string_view run) override {
    const std::lock_guard lock(shared_.mutex);
    if (shared_.failure) return *shared_.failure;
    std::erase_if(rows_.all(), [&](const auto& entry) { return entry.first == run; });
    return {};
  }

 private:
  Shared& shared_;
  Rows<JobRecord> rows_;
};

class RefusalsInMemory final : public RefusalTable {
 public:
  explicit RefusalsInMemory(Shared& shared) : shared_(shared) {}

  Result<std::vector<RefusalRecord>> list() override {
    const std::lock_guard lock(shared_.mutex);
    std::vector<RefusalRecord> all = refusals_;
    std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.node < b.node; });
    return all;
  }
  Result<void> put(std::span<const RefusalRecord> refusals) override {
    const std::lock_guard lock(shared_.mutex);
    if (shared_.failure) return *shared_.failure;
    for (const auto& refusal : refusals) {
      const auto known = std::find_if(refusals_.begin(), refusals_.end(), [&](const RefusalRecord& one) {
        return std::tie(one.node, one.what, one.why) == std::tie(refusal.node, refusal.what, refusal.why);
      });
      if (known == refusals_.end()) {
        refusals_.push_back(refusal);
      } else {
        known->count = refusal.count;
      }
    }
    return {};
  }
  Result<void> remove(std::string_view node) override {
    const std::lock_guard lock(shared_.mutex);
    if (shared_.failure) return *shared_.failure;
    std::erase_if(refusals_, [&](const RefusalRecord& one) { return one.node == node; });
    return {};
  }

 private:
  Shared& shared_;
  std::vector<RefusalRecord> refusals_;
};

class NoticesInMemory final : public NoticeTable {
 public:
  explicit NoticesInMemory(Shared& shared) : shared_(shared) {}

  Result<std::vector<NoticeRecord>> list() override {
    const std::lock_guard lock(shared_.mutex);
    return notices_;
  }
  Result<void> add(std::span<NoticeRecord> notices) override {
    const std::lock_guard lock(shared_.mutex);
    if (shared_.failure) return *shared_.failure;
    for (auto& notice : notices) {
      notice.id = ++last_id_;
      notices_.push_back(notice);
    }
    return {};
  }
  Result<void> remove(std::int64_t id) override {
    const std::lock_guard lock(shared_.mutex);
    if (shared_.failure) return *shared_.failure;
    std::erase_if(notices_, [&](const NoticeRecord& one) { return one.id == id; });
    return {};
  }

 private:
  Shared& shared_;
  std::vector<NoticeRecord> notices_;
  std::int64_t last_id_ = 0;
};

}  // namespace

struct ClusterMemory::Tables {
  Shared shared;
  NodesInMemory nodes{shared};
  AlertsInMemory alerts{shared};
  SilencesInMemory silences{shared};
  EventsInMemory events{shared};
  JobsInMemory jobs{shared};
  std::unique_ptr<AccountTables> accounts = make_account_memory();
  RefusalsInMemory refusals{shared};
  NoticesInMemory notices{shared};
};

ClusterMemory::ClusterMemory() : tables_(std::make_unique<Tables>()) {}
ClusterMemory::~ClusterMemory() = default;

NodeTable& ClusterMemory::nodes() { return tables_->nodes; }
AlertTable& ClusterMemory::alerts() { return tables_->alerts; }
SilenceTable& ClusterMemory::silences() { return tables_->silences; }
EventLog& ClusterMemory::events() { return tables_->events; }
JobTable& ClusterMemory::jobs() { return tables_->jobs; }
AccountTables& ClusterMemory::accounts() { return *tables_->accounts; }
RefusalTable& ClusterMemory::refusals() { return tables_->refusals; }
NoticeTable& ClusterMemory::notices() { return tables_->notices; }

Result<void> ClusterMemory::backup_to(const fs::path&) {
  return Error{.kind = ErrorKind::unsupported, .message = "what is in memory alone cannot be backed up"};
}

void ClusterMemory::fail_writes(std::optional<Error> error) {
  const std::lock_guard lock(tables_->shared.mutex);
  tables_->shared.failure = std::move(error);
}

}  // namespace assay
