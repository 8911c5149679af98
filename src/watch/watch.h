#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "model/alert.h"
#include "watch/alert_change.h"
#include "watch/rule_view.h"
#include "watch/watch_rules.h"

namespace assay {

struct TelemetryEvent;

/// Applies the rules to a cluster, look after look, some seconds apart. Pure logic: no clock, no files, no threads;
/// one caller at a time. A look at a thousand nodes of eight GPUs takes a few milliseconds; about 1 KiB is kept of
/// each GPU.
class Watch {
 public:
  /// `open` are the alerts that were open when the program ended: they are not raised again, but resolved in time.
  explicit Watch(const WatchRules& rules, std::vector<Alert> open = {});
  Watch(Watch&&) noexcept;
  Watch& operator=(Watch&&) noexcept;
  ~Watch();

  /// Something that happened on a node, for the next look. Events that come twice count once; so do those that are
  /// older than the rule's `clear_for`. Beyond `kMostEvents` between two looks the rest is dropped.
  void note_event(std::string_view node, const TelemetryEvent& event);

  /// What has changed. A node that is offline or late keeps its alerts; offline it raises `node_lost`. After a pause
  /// of more than `kLongestGap` every wait starts anew: nobody knows what was in between.
  std::vector<AlertChange> look(const ClusterView& cluster, WallTime now);

  /// Open alerts whose words were made anew since this was last asked for: each about once a minute, with its value
  /// now and the worst one. To be shown and kept; nobody need be woken.
  std::vector<Alert> take_renewed();

  /// Most severe first, then oldest first; with their newest values.
  std::vector<Alert> open_alerts() const;  ///< Called by tests; the leader keeps what it is told

  static constexpr std::size_t kMostEvents = 4096;
  static constexpr Nanos kLongestGap = std::chrono::minutes(1);

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace assay
