#include "leader/alert_desk.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/ids.h"
#include "base/log.h"
#include "store/cluster_store.h"
#include "telemetry/telemetry_event.h"

namespace assay {
namespace {

constexpr Nanos kLongestSilence = std::chrono::hours(24 * 366);
constexpr std::size_t kMaxSilences = 1000;

}  // namespace

Result<std::unique_ptr<AlertDesk>> AlertDesk::load(ClusterStore& store, const WatchRules& rules,
                                                   std::vector<std::unique_ptr<Outlet>> outlets, const Clock& clock) {
  std::unique_ptr<AlertDesk> desk(new AlertDesk(store, clock));
  ASSAY_TRY(desk->outlets_, Outlets::load(std::move(outlets), store.notices(), clock));
  ASSAY_TRY(auto kept, store.alerts().open());
  std::vector<Alert> open;
  for (auto& record : kept) {
    open.push_back(record.row.alert);
    desk->open_[record.row.alert.id] = std::move(record);
  }
  ASSAY_CHECK(desk->load_silences());
  desk->watch_.emplace(rules, std::move(open));
  return desk;
}

Result<void> AlertDesk::load_silences() {
  ASSAY_TRY(auto kept, store_.silences().list());
  for (auto& silence : kept) silences_[silence.id] = std::move(silence);
  return {};
}

void AlertDesk::look(const ClusterView& view) {
  const std::lock_guard lock(mutex_);
  take_changes(watch_->look(view, clock_.wall()));
  take_renewed();
  tell_what_is_no_longer_silenced();
}

void AlertDesk::note_event(std::string_view node, const TelemetryEvent& event) {
  const std::lock_guard lock(mutex_);
  watch_->note_event(node, event);
}

bool AlertDesk::is_silenced(const Alert& alert) const {
  const WallTime now = clock_.wall();
  return std::any_of(silences_.begin(), silences_.end(),
                     [&](const auto& entry) { return entry.second.covers(alert, now); });
}

void AlertDesk::save_all(std::vector<Stored<AlertRecord>> records) {
  auto saved = store_.alerts().put(records);
  if (!saved && saved.error().kind == ErrorKind::busy) {
    take_over(records);
    saved = store_.alerts().put(records);
  }
  if (!saved) log_error("{} alerts could not be written down: {}", records.size(), saved.error().text());
  for (const auto& record : records) {
    if (const auto known = open_.find(record.row.alert.id); known != open_.end()) known->second = record;
  }
}

void AlertDesk::take_over(std::vector<Stored<AlertRecord>>& records) {
  for (auto& [record, revision] : records) {
    const auto stored = store_.alerts().find(record.alert.id);
    revision = stored ? stored->revision : 0;
    if (!stored) continue;
    record.acknowledged_at = stored->row.acknowledged_at;
    record.acknowledged_by = stored->row.acknowledged_by;
    record.note = stored->row.note;
  }
}

void AlertDesk::tell_what_is_no_longer_silenced() {
  std::vector<Stored<AlertRecord>> records;
  std::vector<Outlets::News> news;
  for (auto& [id, stored] : open_) {
    AlertRecord& record = stored.row;
    if (record.told || is_silenced(record.alert)) continue;
    record.told = true;
    record.silenced = false;
    records.push_back(stored);
    news.push_back({.change = "raised", .alert = record.alert});
  }
  outlets_->send(news);
  save_all(std::move(records));
}

void AlertDesk::take_changes(std::vector<AlertChange> changes) {
  std::vector<Stored<AlertRecord>> records;
  std::vector<Outlets::News> news;
  for (auto& change : changes) {
    const bool raised = change.kind == AlertChange::Kind::raised;
    Stored<AlertRecord> stored;
    if (const auto known = open_.find(change.alert.id); known != open_.end()) stored = known->second;
    AlertRecord& record = stored.row;
    record.alert = std::move(change.alert);
    record.silenced = is_silenced(record.alert);
    log_info("{} {}: {}", raised ? name_of(record.alert.severity) : "resolved", record.alert.id, record.alert.what);
    // Who was told that it is on fire is also told that it is out; who never was, is not.
    if (raised) record.told = !record.silenced;
    if (publish_) publish_(json::serialize(to_json(record)));
    if (record.told) news.push_back({.change = raised ? "raised" : "resolved", .alert = record.alert});
    if (raised) {
      open_[record.alert.id] = stored;
    } else {
      open_.erase(record.alert.id);
      // Raised and over within one look: the last word is what is kept.
      if (stored.revision == 0)
        std::erase_if(records, [&](const auto& one) { return one.row.alert.id == record.alert.id; });
    }
    records.push_back(std::move(stored));
  }
  // First those who are told: better twice than never. In one go: those who report events wait for this look to end.
  outlets_->send(news);
  save_all(std::move(records));
}

/// Nobody is told again: these are the same alerts, with values of now.
void AlertDesk::take_renewed() {
  std::vector<Stored<AlertRecord>> records;
  for (Alert& alert : watch_->take_renewed()) {
    const auto known = open_.find(alert.id);
    if (known == open_.end()) continue;
    known->second.row.alert = std::move(alert);
    records.push_back(known->second);
  }
  save_all(std::move(records));
}

std::vector<AlertRecord> AlertDesk::open_alerts() const {
  std::vector<AlertRecord> records;
  const std::lock_guard lock(mutex_);
  records.reserve(open_.size());
  for (const auto& [id, stored] : open_) {
    records.push_back(stored.row);
    records.back().silenced = is_silenced(stored.row.alert);
  }
  return records;
}

Result<std::vector<AlertRecord>> AlertDesk::list(const Query& query) const {
  std::vector<AlertRecord> records = open_alerts();
  std::sort(records.begin(), records.end(), [](const AlertRecord& a, const AlertRecord& b) {
    return std::tie(b.alert.severity, b.alert.since, a.alert.id) <
           std::tie(a.alert.severity, a.alert.since, b.alert.id);
  });
  std::set<std::string> open;
  for (const auto& record : records) open.insert(record.alert.id);
  AlertPageQuery page{.node = query.node, .limit = query.limit, .from = query.from, .to = query.to};
  if (open.contains(query.before)) {
    const auto last = std::find_if(records.begin(), records.end(),
                                   [&](const AlertRecord& record) { return record.alert.id == query.before; });
    records.erase(records.begin(), last + 1);
  } else if (!query.before.empty()) {
    auto last = store_.alerts().find(query.before);
    if (query.open_only || (!last && last.error().kind == ErrorKind::not_found)) {
      return Error{.kind = ErrorKind::usage,
                   .message = fmt::format("there is no alert '{}' in the list", query.before)};
    }
    if (!last) return std::move(last).error();
    records.clear();
    page.after = {.since = last->row.alert.since, .id = query.before};
  }
  std::erase_if(records, [&](const AlertRecord& record) {
    return (!query.node.empty() && record.alert.node != query.node) || (query.to && record.alert.since >= *query.to);
  });
  if (records.size() > query.limit) records.resize(query.limit);
  if (!query.open_only) ASSAY_CHECK(add_resolved(page, open, records));
  return records;
}

Result<void> AlertDesk::add_resolved(AlertPageQuery page, const std::set<std::string>& except,
                                     std::vector<AlertRecord>& records) const {
  const std::size_t wanted = page.limit;
  while (records.size() < wanted) {
    page.limit = wanted - records.size();
    ASSAY_TRY(auto resolved, store_.alerts().resolved(page));
    for (auto& [record, revision] : resolved) {
      page.after = {.since = record.alert.since, .id = record.alert.id};
      if (!except.contains(record.alert.id)) records.push_back(std::move(record));
    }
    if (resolved.size() < page.limit) return {};
  }
  return {};
}

Result<AlertRecord> AlertDesk::find(std::string_view id) const {
  const std::lock_guard lock(mutex_);
  ASSAY_TRY(auto stored, find_locked(id));
  return std::move(stored.row);
}

Result<Stored<AlertRecord>> AlertDesk::find_locked(std::string_view id) const {
  const auto first = open_.lower_bound(id);
  if (first == open_.end() || !first->first.starts_with(id) || id.empty()) return store_.alerts().find(id);
  const auto second = std::next(first);
  if (first->first != id && second != open_.end() && second->first.starts_with(id)) {
    return Error{.kind = ErrorKind::usage,
                 .message = fmt::format("several alerts begin with '{}'", id),
                 .hint = fmt::format("Two of them are {} and {}.", first->first, second->first)};
  }
  Stored<AlertRecord> stored = first->second;
  stored.row.silenced = is_silenced(stored.row.alert);
  return stored;
}

Result<AlertRecord> AlertDesk::acknowledge(std::string_view id, std::string by, std::string note) {
  // One lock for both: what is resolved in between must not be open again.
  const std::lock_guard lock(mutex_);
  ASSAY_TRY(auto stored, find_locked(id));
  std::vector<Stored<AlertRecord>> records = {std::move(stored)};
  AlertRecord& record = records.front().row;
  if (record.alert.state != AlertState::open) {
    return Error{.kind = ErrorKind::usage, .message = fmt::format("alert '{}' is resolved already", record.alert.id)};
  }
  record.acknowledged_at = clock_.wall();
  record.acknowledged_by = std::move(by);
  if (!note.empty()) record.note = std::move(note);
  auto saved = store_.alerts().put(records);
  // Whoever was first is known from now on, and may be overruled.
  if (!saved && saved.error().kind == ErrorKind::busy) take_over(records);
  if (saved || saved.error().kind == ErrorKind::busy) open_[record.alert.id] = records.front();
  if (!saved) return std::move(saved).error();
  if (publish_) publish_(json::serialize(to_json(record)));
  return record;
}

Result<Silence> AlertDesk::silence(Silence silence) {
  const WallTime now = clock_.wall();
  if (silence.until <= now || silence.until > now + kLongestSilence) {
    return Error{.kind = ErrorKind::usage,
                 .message = "a silence must end in the future, and within a year",
                 .hint = "For example: for 2h."};
  }
  const std::lock_guard lock(mutex_);
  for (auto entry = silences_.begin(); entry != silences_.end();) {
    const bool over = entry->second.until <= now;
    if (over && !store_.silences().remove(entry->first)) log_warning("A silence that is over could not be deleted.");
    entry = over ? silences_.erase(entry) : std::next(entry);
  }
  if (silences_.size() >= kMaxSilences) {
    return Error{.kind = ErrorKind::busy, .message = fmt::format("there are {} silences already", silences_.size())};
  }
  silence.id = new_id();
  ASSAY_CHECK(store_.silences().add(silence));
  silences_[silence.id] = silence;
  return silence;
}

std::vector<Silence> AlertDesk::silences() const {
  const std::lock_guard lock(mutex_);
  const WallTime now = clock_.wall();
  std::vector<Silence> list;
  for (const auto& [id, silence] : silences_) {
    if (now < silence.until) list.push_back(silence);
  }
  return list;
}

Result<void> AlertDesk::end_silence(std::string_view id) {
  const std::lock_guard lock(mutex_);
  const auto found = silences_.find(id);
  if (found == silences_.end()) {
    return Error{.kind = ErrorKind::not_found, .message = fmt::format("there is no silence '{}'", id)};
  }
  ASSAY_CHECK(store_.silences().remove(id));
  silences_.erase(found);
  return {};
}

}  // namespace assay
