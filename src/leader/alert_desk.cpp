#include "leader/alert_desk.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/ids.h"
#include "base/log.h"

namespace assay {
namespace {

constexpr std::string_view kAlert = "alert";
constexpr std::string_view kSilence = "silence";
constexpr Nanos kLongestSilence = std::chrono::hours(24 * 366);
constexpr std::size_t kMaxSilences = 1000;

Result<AlertRecord> record_from(const json::value& value) {
  AlertRecord record;
  ASSAY_TRY(record.alert, alert_from(value));
  JsonFields fields(value, "alert");
  const std::string at = fields.text_or("acknowledged_at", "");
  record.acknowledged_by = fields.text_or("acknowledged_by", "");
  record.note = fields.text_or("note", "");
  record.told = fields.boolean_or("told", true);
  ASSAY_CHECK(fields.finish());
  if (!at.empty()) {
    ASSAY_TRY(record.acknowledged_at, parse_iso8601(at));
  }
  return record;
}

Result<Silence> silence_from(const json::value& value) {
  JsonFields fields(value, "silence");
  Silence silence{.id = fields.text("id"),
                  .rule = fields.text_or("rule", ""),
                  .node = fields.text_or("node", ""),
                  .about = fields.text_or("about", ""),
                  .by = fields.text_or("by", ""),
                  .reason = fields.text_or("reason", "")};
  const std::string until = fields.text("until");
  ASSAY_CHECK(fields.finish());
  ASSAY_TRY(silence.until, parse_iso8601(until));
  return silence;
}

ClusterDocument document_of(const AlertRecord& record) {
  return {.id = record.alert.id, .time = record.alert.since, .content = to_json(record)};
}

}  // namespace

json::object to_json(const AlertRecord& record) {
  json::object object = json_of(record.alert).as_object();
  object["acknowledged_at"] = record.acknowledged_at ? iso8601(*record.acknowledged_at) : "";
  object["acknowledged_by"] = record.acknowledged_by;
  object["note"] = record.note;
  object["silenced"] = record.silenced;
  object["told"] = record.told;
  return object;
}

json::object to_json(const Silence& silence) {
  return {{"id", silence.id},        {"rule", silence.rule}, {"node", silence.node},
          {"about", silence.about},  {"by", silence.by},     {"until", iso8601(silence.until)},
          {"reason", silence.reason}};
}

bool Silence::covers(const Alert& alert, WallTime now) const {
  return now < until && (rule.empty() || rule == alert.rule) && (node.empty() || node == alert.node) &&
         (about.empty() || about == alert.about);
}

Result<std::unique_ptr<AlertDesk>> AlertDesk::load(ClusterStore& store, const WatchRules& rules, OutletOptions outlets,
                                                   const Clock& clock) {
  std::unique_ptr<AlertDesk> desk(new AlertDesk(store, clock));
  ASSAY_TRY(desk->outlets_, Outlets::start(std::move(outlets)));
  ASSAY_TRY(const auto documents, store.list({.kind = std::string(kAlert), .open_only = true}));
  std::vector<Alert> open;
  for (const auto& document : documents) {
    auto record = record_from(document.content);
    if (!record) {
      log_warning("Alert '{}' cannot be read and is left out: {}", document.id, record.error().text());
      continue;
    }
    open.push_back(record->alert);
    desk->open_[record->alert.id] = std::move(*record);
  }
  ASSAY_CHECK(desk->load_silences());
  desk->watch_.emplace(rules, std::move(open));
  return desk;
}

Result<void> AlertDesk::load_silences() {
  ASSAY_TRY(const auto documents, store_.list({.kind = std::string(kSilence)}));
  for (const auto& document : documents) {
    auto silence = silence_from(document.content);
    if (silence) silences_[silence->id] = std::move(*silence);
  }
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

void AlertDesk::save_all(const std::vector<AlertRecord>& records) {
  for (const bool open : {true, false}) {
    std::vector<ClusterDocument> documents;
    for (const auto& record : records) {
      if ((record.alert.state == AlertState::open) == open) documents.push_back(document_of(record));
    }
    if (documents.empty()) continue;
    if (const auto saved = store_.put_all(kAlert, documents, open); !saved) {
      log_error("{} alerts could not be written down: {}", documents.size(), saved.error().text());
    }
  }
}

void AlertDesk::tell_what_is_no_longer_silenced() {
  std::vector<AlertRecord> records;
  for (auto& [id, record] : open_) {
    if (record.told || is_silenced(record.alert)) continue;
    record.told = true;
    record.silenced = false;
    records.push_back(record);
    outlets_->send("raised", record.alert);
  }
  save_all(records);
}

void AlertDesk::take_changes(std::vector<AlertChange> changes) {
  std::vector<AlertRecord> records;
  for (auto& change : changes) {
    const bool raised = change.kind == AlertChange::Kind::raised;
    AlertRecord& record = records.emplace_back();
    if (const auto known = open_.find(change.alert.id); known != open_.end()) record = known->second;
    record.alert = std::move(change.alert);
    record.silenced = is_silenced(record.alert);
    log_info("{} {}: {}", raised ? name_of(record.alert.severity) : "resolved", record.alert.id, record.alert.what);
    // Who was told that it is on fire is also told that it is out; who never was, is not.
    if (raised) record.told = !record.silenced;
    if (publish_) publish_(json::serialize(to_json(record)));
    if (record.told) outlets_->send(raised ? "raised" : "resolved", record.alert);
    if (raised) {
      open_[record.alert.id] = record;
    } else {
      open_.erase(record.alert.id);
    }
  }
  // In one go: those who report events wait for this look to end.
  save_all(records);
}

/// Nobody is told again: these are the same alerts, with values of now.
void AlertDesk::take_renewed() {
  std::vector<AlertRecord> records;
  for (Alert& alert : watch_->take_renewed()) {
    const auto known = open_.find(alert.id);
    if (known == open_.end()) continue;
    known->second.alert = std::move(alert);
    records.push_back(known->second);
  }
  save_all(records);
}

std::vector<AlertRecord> AlertDesk::open_alerts() const {
  std::vector<AlertRecord> records;
  const std::lock_guard lock(mutex_);
  records.reserve(open_.size());
  for (const auto& [id, record] : open_) {
    records.push_back(record);
    records.back().silenced = is_silenced(record.alert);
  }
  return records;
}

Result<std::vector<AlertRecord>> AlertDesk::list(const Query& query) const {
  std::vector<AlertRecord> records = open_alerts();
  std::sort(records.begin(), records.end(), [](const AlertRecord& a, const AlertRecord& b) {
    return std::tie(b.alert.severity, b.alert.since, a.alert.id) <
           std::tie(a.alert.severity, a.alert.since, b.alert.id);
  });
  if (!query.open_only) {
    std::set<std::string> open;
    for (const auto& record : records) open.insert(record.alert.id);
    // Those of one node, and those of a later page, may lie far back.
    ClusterDocumentQuery documents_query{.kind = std::string(kAlert)};
    if (query.node.empty() && query.before.empty()) documents_query.limit = query.limit + open.size();
    ASSAY_TRY(const auto documents, store_.list(documents_query));
    for (const auto& document : documents) {
      if (open.contains(document.id)) continue;
      if (auto record = record_from(document.content)) records.push_back(std::move(*record));
    }
  }
  if (!query.before.empty()) {
    const auto last = std::find_if(records.begin(), records.end(),
                                   [&](const AlertRecord& record) { return record.alert.id == query.before; });
    if (last == records.end()) {
      return Error{.kind = ErrorKind::usage,
                   .message = fmt::format("there is no alert '{}' in the list", query.before)};
    }
    records.erase(records.begin(), last + 1);
  }
  if (!query.node.empty()) {
    std::erase_if(records, [&](const AlertRecord& record) { return record.alert.node != query.node; });
  }
  if (records.size() > query.limit) records.resize(query.limit);
  return records;
}

Result<AlertRecord> AlertDesk::find(std::string_view id) const {
  const std::lock_guard lock(mutex_);
  return find_locked(id);
}

Result<AlertRecord> AlertDesk::find_locked(std::string_view id) const {
  const auto first = open_.lower_bound(id);
  if (first != open_.end() && first->first.starts_with(id) && !id.empty()) {
    const auto second = std::next(first);
    if (first->first != id && second != open_.end() && second->first.starts_with(id)) {
      return Error{.kind = ErrorKind::usage,
                   .message = fmt::format("several alerts begin with '{}'", id),
                   .hint = fmt::format("Two of them are {} and {}.", first->first, second->first)};
    }
    AlertRecord record = first->second;
    record.silenced = is_silenced(record.alert);
    return record;
  }
  auto document = store_.find(kAlert, id);
  if (!document) return std::move(document).error();
  return record_from(document->content);
}

Result<AlertRecord> AlertDesk::acknowledge(std::string_view id, std::string by, std::string note) {
  // One lock for both: what is resolved in between must not be open again.
  const std::lock_guard lock(mutex_);
  ASSAY_TRY(auto record, find_locked(id));
  if (record.alert.state != AlertState::open) {
    return Error{.kind = ErrorKind::usage, .message = fmt::format("alert '{}' is resolved already", record.alert.id)};
  }
  record.acknowledged_at = clock_.wall();
  record.acknowledged_by = std::move(by);
  if (!note.empty()) record.note = std::move(note);
  ASSAY_CHECK(store_.put(kAlert, document_of(record), true));
  open_[record.alert.id] = record;
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
    if (over && !store_.remove(kSilence, entry->first)) log_warning("A silence that is over could not be deleted.");
    entry = over ? silences_.erase(entry) : std::next(entry);
  }
  if (silences_.size() >= kMaxSilences) {
    return Error{.kind = ErrorKind::busy, .message = fmt::format("there are {} silences already", silences_.size())};
  }
  silence.id = new_id();
  ASSAY_CHECK(store_.put(kSilence, {.id = silence.id, .time = now, .content = to_json(silence)}, true));
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
  ASSAY_CHECK(store_.remove(kSilence, id));
  silences_.erase(found);
  return {};
}

}  // namespace assay
