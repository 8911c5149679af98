#include "net/io.h"

#include <utility>

namespace assay {

IoTask<void> Wakeup::wait_until(SteadyTime time) {
  if (!std::exchange(notified_, false)) {
    timer_.expires_at(time);
    co_await timer_.async_wait(kAsTask);
    notified_ = false;
  }
}

void Wakeup::notify() {
  notified_ = true;
  timer_.cancel();
}

}  // namespace assay
