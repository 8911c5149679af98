#include "watch/condition.h"

#include <cmath>

namespace assay {

RuleCondition::Change RuleCondition::look(double value, const Rule& rule, RuleInfo::Direction direction, WallTime now) {
  if (std::isnan(value)) {
    pause();
    return Change::none;
  }
  // A clock that was set back must not make anybody wait for hours.
  if (quiet_until_ > now + rule.clear_for) quiet_until_ = WallTime::min();
  const bool below = direction == RuleInfo::Direction::below;
  const bool bad = below ? value < rule.level : value > rule.level;
  const bool good = below ? value > rule.clear : value < rule.clear;
  const bool moves = raised_ ? good : bad && now >= quiet_until_;
  if (!moves) {
    pause();
    return Change::none;
  }
  if (!waiting_ || now < waiting_since_) {
    waiting_ = true;
    waiting_since_ = now;
  }
  if (now - waiting_since_ < (raised_ ? rule.clear_for : rule.hold)) return Change::none;
  raised_ = !raised_;
  waiting_ = false;
  if (raised_) return Change::raised;
  quiet_until_ = now + rule.clear_for;
  return Change::resolved;
}

}  // namespace assay
