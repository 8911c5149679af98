#pragma once

#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "model/alert.h"
#include "watch/alert_change.h"
#include "watch/watch_rules.h"

namespace assay {

/// What an alert is about.
struct AlertSubject {
  RuleId rule = RuleId::count;
  std::string_view node;
  std::string_view about;
  bool operator==(const AlertSubject&) const = default;
};

/// What an alert says.
struct AlertNews {
  std::string what;
  std::string remedy;  ///< that of the rule if empty
  AlertSeverity severity = AlertSeverity::warning;
  WallTime since;
  double value = 0;
  double threshold = 0;
  std::map<std::string, double> values;
};

/// The alerts that are open, and those that were raised or resolved since the changes were last taken.
class AlertBoard {
 public:
  /// Alerts that were open before. Those of rules that are no longer there or not enabled are resolved by `begin`.
  AlertBoard(const WatchRules& rules, std::vector<Alert> restored);

  /// At the start of a look.
  void begin(WallTime now);
  const Alert* find(const AlertSubject& subject) const;
  void raise(const AlertSubject& subject, AlertNews news);
  /// Renews the words, severity and values of an open alert. That is no change that anybody is woken for.
  void renew(const AlertSubject& subject, AlertNews news);
  /// Alerts of one node.
  std::vector<Alert> open_of(std::string_view node) const;
  /// What the alert is about is still there; its value, if that is known. Whether its words are older than
  /// `kRenewEvery`.
  bool touch(const AlertSubject& subject, double value);
  /// `what`: how it ended.
  void resolve(const AlertSubject& subject, std::string what) { close(subject, std::move(what)); }
  /// All of a node that was taken out of the cluster.
  void resolve_node(std::string_view node);
  /// Resolves what was not touched for as long as `patience`, unless `excused(node)`.
  template <typename Excused>
  void resolve_forgotten(Nanos patience, Excused excused) {
    std::vector<Key> forgotten;
    for (auto& [key, entry] : open_) {
      if (excused(entry.alert.node)) {
        entry.touched = now_;
      } else if (now_ - entry.touched > patience) {
        forgotten.push_back(key);
      }
    }
    for (const Key& key : forgotten) abandon(key.subject(), "what it was about is no longer reported");
  }

  std::vector<AlertChange> take_changes();
  /// Those that were renewed since this was last asked for and are still open.
  std::vector<Alert> take_renewed();
  /// By severity, most severe first, then by age.
  std::vector<Alert> open() const;

  static constexpr Nanos kRenewEvery = std::chrono::minutes(1);

 private:
  struct Entry {
    Alert alert;
    WallTime touched;
    WallTime written;  ///< its words
    bool renewed = false;
  };

  struct Key {
    RuleId rule = RuleId::count;
    std::string node;
    std::string about;
    AlertSubject subject() const { return {rule, node, about}; }
  };
  // Thousands may be open, and each is looked up at every look: without a copy of its names.
  struct KeyHash {
    using is_transparent = void;
    std::size_t operator()(const AlertSubject& subject) const;
    std::size_t operator()(const Key& key) const { return (*this)(key.subject()); }
  };
  struct SameKey {
    using is_transparent = void;
    bool operator()(const Key& a, const Key& b) const { return a.subject() == b.subject(); }
    bool operator()(const AlertSubject& a, const Key& b) const { return a == b.subject(); }
  };

  void close(const AlertSubject& subject, std::string what);
  /// Ends an alert whose end nobody saw.
  void abandon(const AlertSubject& subject, std::string_view why);

  std::unordered_map<Key, Entry, KeyHash, SameKey> open_;
  std::vector<Alert> outdated_;
  std::vector<AlertChange> changes_;
  WallTime now_;
  bool begun_ = false;
};

}  // namespace assay
