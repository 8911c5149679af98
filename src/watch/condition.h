#pragma once

#include "base/clock.h"
#include "watch/watch_rules.h"

namespace assay {

/// Whether one rule holds for one thing: waits before it raises, waits before it resolves, then keeps quiet.
class RuleCondition {
 public:
  enum class Change { none, raised, resolved };

  /// `value` is NaN where it is not known: then nothing changes and every wait starts anew.
  Change look(double value, const Rule& rule, RuleInfo::Direction direction, WallTime now);
  /// What was waited for starts anew: the values in between are not known.
  void pause() { waiting_ = false; }
  /// There is an alert already.
  void restore() { raised_ = true; }
  void resolve_now() { raised_ = waiting_ = false; }
  bool raised() const { return raised_; }
  /// Whether it was resolved so lately that it says nothing.
  bool is_quiet(WallTime now) const { return now < quiet_until_; }

 private:
  bool raised_ = false;
  bool waiting_ = false;
  WallTime waiting_since_;
  WallTime quiet_until_ = WallTime::min();
};

}  // namespace assay
