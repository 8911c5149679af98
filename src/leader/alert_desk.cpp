#include "leader/alert_desk.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>
#include <tuple>

#include "base/ids.h"
#include "base/log.h"
#include "store/cluster_store.h"
#include "telemetry/telemetry_event.h"

namespace assay {
namespace {

constexpr Nanos kLongestSilence = std::chrono::hours(24 * 366);
constexpr std::size_t kMaxSilences = 1000;

/// After an alert of the list: one that is open, with how grave it was, or one that is resolved.
struct PlaceInList {
  std::optional<AlertSeverity> severity;  ///< nothing: it is resolved
  AlertPlace at;
};

PlaceInList place_in_list(const Alert& alert) {
  PlaceInList place{.severity = alert.severity, .at = {.since = alert.since, .id = alert.id}};
  if (alert.state != AlertState::open) place.severity.reset();
  return place;
}

/// Of an open one: the gravest come first, then the newest.
bool comes_after(const Alert& alert, const PlaceInList& place) {
  return place.severity &&
         std::tie(alert.severity, alert.since, place.at.id) < std::tie(*place.severity, place.at.since, alert.id);
}

std::string text_of_place(const PlaceInList& place) {
  return fmt::format("{}.{}.{}", place.severity ? name_of(*place.severity) : name_of(AlertState::resolved),
                     place.at.since.time_since_epoch().count(), place.at.id);
}

/// Nothing if it is not what `text_of_place` has made.
std::optional<PlaceInList> read_place(std::string_view text) {
  const auto first = text.find('.');
  const auto second = first == std::string_view::npos ? first : text.find('.', first + 1);
  if (second == std::string_view::npos) return std::nullopt;
  const std::string_view word = text.substr(0, first);
  std::int64_t since = 0;
  const auto read = std::from_chars(text.data() + first + 1, text.data() + second, since);
  if (read.ec != std::errc() || read.ptr != text.data() + second) return std::nullopt;
  PlaceInList place{.severity = severity_from(word),
                    .at = {.since = WallTime(Nanos(since)), .id = std::string(text.substr(second + 1))}};
  if (!place.severity && word != name_of(AlertState::resolved)) return std::nullopt;
  return place;
}

/// Where a page begins. `usage`: there is no such place.
Result<std::optional<PlaceInList>> place_in_list(const AlertDesk::Query& query, const std::vector<AlertRecord>& open,
                                                 AlertTable& alerts) {
  if (query.before.empty()) return std::optional<PlaceInList>();
  if (auto place = read_place(query.before)) return place;
  for (const auto& record : open) {
    if (record.alert.id == query.before) return std::optional(place_in_list(record.alert));
  }
  auto known = alerts.find(query.before);
  if (!known && known.error().kind != ErrorKind::not_found) return std::move(known).error();
  if (known && !query.open_only) return std::optional(place_in_list(known->row.alert));
  return Error{.kind = ErrorKind::usage, .message = fmt::format("there is no alert '{}' in the list", query.before)};
}

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

Result<AlertDesk::Page> AlertDesk::list(const Query& query) const {
  std::vector<AlertRecord> open = open_alerts();
  std::set<std::string> known;
  for (const auto& record : open) known.insert(record.alert.id);
  ASSAY_TRY(const auto after, place_in_list(query, open, store_.alerts()));
  std::erase_if(open, [&](const AlertRecord& record) {
    return (!query.node.empty() && record.alert.node != query.node) || (query.to && record.alert.since >= *query.to) ||
           (after && !comes_after(record.alert, *after));
  });
  std::sort(open.begin(), open.end(), [](const AlertRecord& a, const AlertRecord& b) {
    return std::tie(b.alert.severity, b.alert.since, a.alert.id) <
           std::tie(a.alert.severity, a.alert.since, b.alert.id);
  });
  const bool is_whole = open.size() <= query.limit;
  if (!is_whole) open.resize(query.limit);
  Page page{.alerts = std::move(open), .next = {}};
  const bool is_full = page.alerts.size() == query.limit;
  // Of resolved ones there may be more, which the next page finds out.
  if (!is_whole || (is_full && !query.open_only)) page.next = text_of_place(place_in_list(page.alerts.back().alert));
  if (is_full || query.open_only) return page;
  AlertPageQuery wanted{
      .node = query.node, .limit = query.limit - page.alerts.size(), .from = query.from, .to = query.to};
  if (after && !after->severity) wanted.after = after->at;
  ASSAY_CHECK(add_resolved(wanted, known, page));
  return page;
}

Result<void> AlertDesk::add_resolved(const AlertPageQuery& wanted, const std::set<std::string>& except,
                                     Page& page) const {
  ASSAY_TRY(auto resolved, store_.alerts().resolved(wanted));
  for (auto& [record, revision] : resolved.alerts) {
    if (!except.contains(record.alert.id)) page.alerts.push_back(std::move(record));
  }
  if (resolved.next) page.next = text_of_place({.severity = {}, .at = std::move(*resolved.next)});
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
