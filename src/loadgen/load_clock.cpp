#include "loadgen/load_clock.h"

#include <linux/futex.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>

namespace assay {
namespace {

constexpr Nanos kLeastMargin = std::chrono::microseconds(30);
constexpr Nanos kMostMargin = std::chrono::milliseconds(1);
/// An answer that comes this soon is not worth a sleep, from which waking up takes longer.
constexpr Nanos kSpinForAnswer = std::chrono::microseconds(50);

timespec timespec_of(Nanos since_boot) {
  timespec spec{};
  spec.tv_sec = static_cast<time_t>(since_boot.count() / 1'000'000'000);
  spec.tv_nsec = static_cast<long>(since_boot.count() % 1'000'000'000);
  return spec;
}

SteadyTime read_steady() noexcept {
  timespec spec{};
  ::clock_gettime(CLOCK_MONOTONIC, &spec);
  return SteadyTime(Nanos(spec.tv_sec * 1'000'000'000 + spec.tv_nsec));
}

void pause_cpu() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

}  // namespace

void WakeCounter::add(std::uint32_t n) noexcept {
  value_.fetch_add(n, std::memory_order_seq_cst);
  if (waiting_.load(std::memory_order_seq_cst) == 0) return;
  ::syscall(SYS_futex, &value_, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, 1, nullptr, nullptr, 0);
}

void WakeCounter::wait(std::uint32_t seen, SteadyTime deadline) noexcept {
  waiting_.store(1, std::memory_order_seq_cst);
  while (value_.load(std::memory_order_seq_cst) == seen && read_steady() < deadline) {
    // FUTEX_WAIT_BITSET takes a point of the monotonic clock, FUTEX_WAIT only a length of time.
    const timespec until = timespec_of(deadline.time_since_epoch());
    ::syscall(SYS_futex, &value_, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, seen, &until, nullptr,
              FUTEX_BITSET_MATCH_ANY);
  }
  waiting_.store(0, std::memory_order_relaxed);
}

SpinningClock::SpinningClock() : margin_(std::chrono::microseconds(100)) {
  // By default the kernel may let a sleep end 50 µs late to save wake-ups.
  ::prctl(PR_SET_TIMERSLACK, 1);
}

SteadyTime SpinningClock::now() noexcept { return read_steady(); }

void SpinningClock::wait_until(SteadyTime until) noexcept {
  SteadyTime now = read_steady();
  if (until - now > margin_) {
    const SteadyTime wake = until - margin_;
    const timespec spec = timespec_of(wake.time_since_epoch());
    ::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &spec, nullptr);
    now = read_steady();
    // Rises at once to what was seen, falls slowly: one calm second does not mean that the next one is.
    const Nanos late = now - wake;
    margin_ = std::clamp(std::max(late + late / 2, margin_ - margin_ / 64), kLeastMargin, kMostMargin);
  }
  while (now < until) {
    pause_cpu();
    now = read_steady();
  }
}

void SpinningClock::wait_for_change(WakeCounter& counter, std::uint32_t seen, SteadyTime deadline) noexcept {
  const SteadyTime spin_until = std::min(deadline, read_steady() + kSpinForAnswer);
  while (counter.value() == seen) {
    if (read_steady() >= spin_until) return counter.wait(seen, deadline);
    pause_cpu();
  }
}

}  // namespace assay
