#include "watch/alert_board.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "base/ids.h"

namespace assay {

std::size_t AlertBoard::KeyHash::operator()(const AlertSubject& subject) const {
  const std::hash<std::string_view> hash;
  // Names and things are hashed apart and mixed, so that neither hides the other.
  return (hash(subject.node) * 31 + hash(subject.about)) * 31 + static_cast<std::size_t>(subject.rule);
}

namespace {

std::string abandoned_sentence(std::string_view why, const Alert& alert) {
  return fmt::format("Ended because {}. Before that: {}", why, alert.what);
}

}  // namespace

AlertBoard::AlertBoard(const WatchRules& rules, std::vector<Alert> restored) {
  for (Alert& alert : restored) {
    if (alert.state != AlertState::open) continue;
    const auto rule = rule_from(alert.rule);
    if (!rule || !rules[*rule].enabled) {
      outdated_.push_back(std::move(alert));
    } else {
      Key key{*rule, alert.node, alert.about};
      open_.emplace(std::move(key), Entry{.alert = std::move(alert), .touched = WallTime()});
    }
  }
}

void AlertBoard::begin(WallTime now) {
  now_ = now;
  if (std::exchange(begun_, true)) return;
  for (auto& [key, entry] : open_) entry.touched = now;
  for (Alert& alert : outdated_) {
    alert.state = AlertState::resolved;
    alert.resolved_at = now;
    alert.what = abandoned_sentence("its rule is no longer there", alert);
    changes_.push_back({AlertChange::Kind::resolved, std::move(alert)});
  }
  outdated_.clear();
}

const Alert* AlertBoard::find(const AlertSubject& subject) const {
  if (open_.empty()) return nullptr;
  const auto entry = open_.find(subject);
  return entry == open_.end() ? nullptr : &entry->second.alert;
}

void AlertBoard::raise(const AlertSubject& subject, AlertNews news) {
  const RuleInfo& info = info_of(subject.rule);
  const std::string identity =
      fmt::format("{}\n{}\n{}\n{}", info.name, subject.node, subject.about, now_.time_since_epoch().count());
  Alert alert{.id = id_from(identity),
              .rule = std::string(info.name),
              .severity = news.severity,
              .node = std::string(subject.node),
              .about = std::string(subject.about),
              .what = std::move(news.what),
              .remedy = news.remedy.empty() ? std::string(info.remedy) : std::move(news.remedy),
              .since = news.since,
              .last_value = news.value,
              .worst_value = news.value,
              .threshold = news.threshold,
              .values = std::move(news.values)};
  Key key{subject.rule, alert.node, alert.about};
  const auto [entry, is_new] =
      open_.emplace(std::move(key), Entry{.alert = std::move(alert), .touched = now_, .written = now_});
  if (is_new) changes_.push_back({AlertChange::Kind::raised, entry->second.alert});
}

void AlertBoard::renew(const AlertSubject& subject, AlertNews news) {
  const auto found = open_.find(subject);
  if (found == open_.end()) return;
  Entry& entry = found->second;
  entry.written = now_;
  entry.renewed = true;
  entry.alert.what = std::move(news.what);
  entry.alert.severity = news.severity;
  entry.alert.values = std::move(news.values);
  if (!news.remedy.empty()) entry.alert.remedy = std::move(news.remedy);
}

bool AlertBoard::touch(const AlertSubject& subject, double value) {
  const auto found = open_.find(subject);
  if (found == open_.end()) return false;
  Entry& entry = found->second;
  entry.touched = now_;
  if (std::isnan(value)) return false;
  entry.alert.last_value = value;
  const bool below = info_of(subject.rule).direction == RuleInfo::Direction::below;
  double& worst = entry.alert.worst_value;
  worst = below ? std::fmin(worst, value) : std::fmax(worst, value);
  // A clock that was set back must not keep the words as they are.
  return now_ - entry.written >= kRenewEvery || now_ < entry.written;
}

std::vector<Alert> AlertBoard::open_of(std::string_view node) const {
  std::vector<Alert> alerts;
  for (const auto& [key, entry] : open_) {
    if (entry.alert.node == node) alerts.push_back(entry.alert);
  }
  return alerts;
}

void AlertBoard::resolve_node(std::string_view node) {
  std::vector<Key> keys;
  for (const auto& [key, entry] : open_) {
    if (entry.alert.node == node) keys.push_back(key);
  }
  for (const Key& key : keys) abandon(key.subject(), "the node was taken out of the cluster");
}

void AlertBoard::abandon(const AlertSubject& subject, std::string_view why) {
  if (const Alert* alert = find(subject)) close(subject, abandoned_sentence(why, *alert));
}

void AlertBoard::close(const AlertSubject& subject, std::string what) {
  const auto entry = open_.find(subject);
  if (entry == open_.end()) return;
  Alert alert = std::move(entry->second.alert);
  open_.erase(entry);
  alert.state = AlertState::resolved;
  alert.resolved_at = now_;
  alert.what = std::move(what);
  changes_.push_back({AlertChange::Kind::resolved, std::move(alert)});
}

std::vector<AlertChange> AlertBoard::take_changes() { return std::exchange(changes_, {}); }

std::vector<Alert> AlertBoard::take_renewed() {
  std::vector<Alert> alerts;
  for (auto& [key, entry] : open_) {
    if (std::exchange(entry.renewed, false)) alerts.push_back(entry.alert);
  }
  return alerts;
}

std::vector<Alert> AlertBoard::open() const {
  std::vector<Alert> alerts;
  alerts.reserve(open_.size());
  for (const auto& [key, entry] : open_) alerts.push_back(entry.alert);
  std::sort(alerts.begin(), alerts.end(), [](const Alert& a, const Alert& b) {
    return std::tie(b.severity, a.since, a.rule, a.node, a.about) <
           std::tie(a.severity, b.since, b.rule, b.node, b.about);
  });
  return alerts;
}

}  // namespace assay
