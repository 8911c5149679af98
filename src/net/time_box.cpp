#include "net/time_box.h"

#include <utility>

namespace assay {

TimeBox::TimeBox(TimeBoxes& all, const IoExecutor& executor, SteadyTime deadline, std::function<void()> break_off)
    : all_(all), state_(std::make_shared<State>(executor, std::move(break_off))) {
  all_.active.insert(this);
  state_->timer.expires_at(deadline);
  state_->timer.async_wait([state = state_](const boost::system::error_code& error) {
    if (error || !state->break_off) return;
    state->expired = true;
    state->break_off();
  });
}

TimeBox::~TimeBox() {
  all_.active.erase(this);
  state_->break_off = nullptr;
  state_->timer.cancel();
}

void TimeBox::break_off_now() { state_->break_off(); }

}  // namespace assay
