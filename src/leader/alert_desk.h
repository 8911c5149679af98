#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/json.h"
#include "base/result.h"
#include "leader/outlets.h"
#include "model/alert.h"
#include "store/alert_table.h"
#include "watch/watch.h"

namespace assay {

class ClusterStore;
struct TelemetryEvent;

/// Looks at the cluster by the rules, keeps the alerts that come of it, and tells the outside. Any thread.
class AlertDesk {
 public:
  /// Takes up the alerts that were open when the leader was stopped.
  static Result<std::unique_ptr<AlertDesk>> load(ClusterStore& store, const WatchRules& rules,
                                                 std::vector<std::unique_ptr<Outlet>> outlets, const Clock& clock);

  /// `publish` gets each change as JSON: for clients that watch live. Set once, before the first look.
  void on_change(std::function<void(std::string)> publish) { publish_ = std::move(publish); }

  void look(const ClusterView& view);
  void note_event(std::string_view node, const TelemetryEvent& event);

  struct Query {
    bool open_only = true;
    std::string node;
    /// The `next` of the page before, or the id of an alert, which is what follows that; empty: the first page.
    std::string before;
    std::size_t limit = 1000;
    std::optional<WallTime> from;  ///< not those that were over before
    std::optional<WallTime> to;    ///< not those that began then or later
  };
  struct Page {
    std::vector<AlertRecord> alerts;
    /// Where to go on; empty: that is all. There may be fewer alerts than the limit, even none: so far was looked.
    std::string next;
  };
  /// In no order.
  std::vector<AlertRecord> open_alerts() const;
  /// Open ones first, the gravest of them first, then newest first. `usage` for a `before` that is not in the list.
  /// What is resolved is read without holding up those who report events, and no more of it than `AlertTable` looks at.
  Result<Page> list(const Query& query) const;
  /// By id, or by a unique beginning of one. `not_found`, `usage` (several).
  Result<AlertRecord> find(std::string_view id) const;
  /// The same, and `busy`: somebody else has just changed it.
  Result<AlertRecord> acknowledge(std::string_view id, std::string by, std::string note);

  /// `usage` where it would be over already, or beyond a year.
  Result<Silence> silence(Silence silence);
  std::vector<Silence> silences() const;
  Result<void> end_silence(std::string_view id);
  /// Outlets that did not take the newest alert.
  std::vector<Outlets::Problem> outlet_problems() const { return outlets_->problems(); }

 private:
  AlertDesk(ClusterStore& store, const Clock& clock) : store_(store), clock_(clock) {}
  Result<void> load_silences();
  void take_changes(std::vector<AlertChange> changes);
  void take_renewed();
  /// Raised under a silence that has ended: now the outlets are told.
  void tell_what_is_no_longer_silenced();
  /// Fills the page up to the limit of `wanted`, without what is in `except`.
  Result<void> add_resolved(const AlertPageQuery& wanted, const std::set<std::string>& except, Page& page) const;
  Result<Stored<AlertRecord>> find_locked(std::string_view id) const;
  bool is_silenced(const Alert& alert) const;
  /// What cannot be written down is in the log, and in memory all the same.
  void save_all(std::vector<Stored<AlertRecord>> records);
  /// Somebody else has changed what is kept of them: what people said there counts, what the rules found here.
  void take_over(std::vector<Stored<AlertRecord>>& records);

  ClusterStore& store_;
  const Clock& clock_;
  std::unique_ptr<Outlets> outlets_;
  std::function<void(std::string)> publish_;
  mutable std::mutex mutex_;
  std::optional<Watch> watch_;
  std::map<std::string, Stored<AlertRecord>, std::less<>> open_;
  std::map<std::string, Silence, std::less<>> silences_;
};

}  // namespace assay
