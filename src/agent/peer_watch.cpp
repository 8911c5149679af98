#include "agent/peer_watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>

#include "agent/shipper.h"
#include "base/log.h"

namespace assay {
namespace {

/// Of a run that ends, somebody waits for the answer.
constexpr Nanos kEndPeriod = std::chrono::milliseconds(200);

}  // namespace

Result<std::unique_ptr<PeerWatch>> PeerWatch::start(PeerWatchOptions options) {
  std::unique_ptr<PeerWatch> made(new PeerWatch(std::move(options)));
  try {
    made->thread_.emplace(
        "peers-" + made->options_.run, [self = made.get()](const std::stop_token& stop) { self->watch(stop); },
        SupervisedThread::OnFailure{});
  } catch (const std::system_error& problem) {
    return Error{.kind = ErrorKind::io, .message = problem.what()};
  }
  return made;
}

PeerWatch::~PeerWatch() { thread_.reset(); }

void PeerWatch::give_up() {
  const std::lock_guard lock(mutex_);
  given_up_ = true;
  changed_.notify_all();
}

void PeerWatch::watch(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    PartReport report{.meeting = options_.meeting, .error = {}};
    {
      const std::lock_guard lock(mutex_);
      report.ended = ended_;
      if (ended_ && (!well_ || lost_)) {
        report.error = Error{.kind = ErrorKind::lost_peer, .message = "its part has ended, and the run with it"};
      }
    }
    const auto answer = options_.report(report);
    bool tell_lost = false;
    {
      std::unique_lock lock(mutex_);
      if (answer) {
        take(*answer, report.ended);
      } else if (is_refusal(answer.error().kind)) {
        refused_ = true;
      }
      tell_lost = end_at_ && !ended_ && !said_lost_ && clock_.now() >= *end_at_;
      said_lost_ = said_lost_ || tell_lost;
    }
    if (tell_lost) options_.on_lost();
    std::unique_lock lock(mutex_);
    changed_.notify_all();
    changed_.wait_for(lock, stop, report.ended ? std::min(kEndPeriod, options_.period) : options_.period,
                      [&] { return ended_ != report.ended; });
  }
}

/// Needs the lock.
void PeerWatch::take(const PartAnswer& answer, bool was_ended) {
  if (answer.lost && !lost_) {
    log_warning("run '{}' cannot go on: {}", options_.run, answer.lost->text());
    lost_ = answer.lost;
    end_at_ = clock_.now() + options_.grace;
  }
  if (!was_ended) return;
  open_ = answer.open;
  working_ = answer.open - answer.bringing;
  if (!answered_end_at_) answered_end_at_ = clock_.now();
}

std::optional<Error> PeerWatch::await_end(bool well) {
  std::unique_lock lock(mutex_);
  ended_ = true;
  well_ = well;
  changed_.notify_all();
  const auto is_late = [&] {
    const Nanos patience = well && !lost_ ? options_.patience : options_.patience_of_failed;
    return working_ > 0 && answered_end_at_ && clock_.now() >= *answered_end_at_ + patience;
  };
  while (!given_up_ && !refused_ && open_ != 0 && !is_late()) changed_.wait_for(lock, kEndPeriod);
  if (lost_ || given_up_ || refused_ || !well || open_ == 0) return lost_;
  return Error{.kind = ErrorKind::lost_peer,
               .message = fmt::format("{} of its nodes had not ended {:.0f} s after the first", working_,
                                      seconds_of(options_.patience))};
}

}  // namespace assay
