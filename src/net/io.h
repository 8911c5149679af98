#pragma once

// What the coroutines of this module are made of. Not for headers that route handlers include: asio is slow to compile.

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>

#include "base/clock.h"

namespace assay {

namespace asio = boost::asio;

// A concrete executor instead of the type-erased default: fewer allocations in every operation.
using IoExecutor = asio::io_context::executor_type;
template <typename T>
using IoTask = asio::awaitable<T, IoExecutor>;
// g++ 12 lays out the frame of a coroutine wrongly when the condition of an `if` both waits and makes temporaries:
// write `const bool sent = co_await write(text); if (!sent) …` instead.

/// Completion token: `auto [error, bytes] = co_await socket.async_read_some(buffer, kAsTask);`
inline constexpr auto kAsTask = asio::as_tuple(asio::use_awaitable_t<IoExecutor>());

using IoTimer =
    asio::basic_waitable_timer<std::chrono::steady_clock, asio::wait_traits<std::chrono::steady_clock>, IoExecutor>;

/// Lets one coroutine sleep until somebody on the same I/O thread wakes it, or until a time has come.
class Wakeup {
 public:
  explicit Wakeup(const IoExecutor& executor) : timer_(executor) {}

  /// Returns at once if `notify` was called since the last wait. One waiter at a time.
  IoTask<void> wait_until(SteadyTime time);
  IoTask<void> wait() { return wait_until(SteadyTime::max()); }
  void notify();

 private:
  IoTimer timer_;
  bool notified_ = false;
};

}  // namespace assay
