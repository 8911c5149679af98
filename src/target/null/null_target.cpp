#include "target/null/null_target.h"

#include <algorithm>
#include <array>
#include <bit>

#include "base/assert.h"

namespace assay {
namespace {

constexpr Nanos kLongestNap = std::chrono::milliseconds(5);  // how late `stop` may be noticed

SteadyTime steady_now() { return std::chrono::time_point_cast<Nanos>(std::chrono::steady_clock::now()); }

}  // namespace

NullTarget::NullTarget(NullTargetOptions options) : options_(options) {
  ASSAY_ASSERT(options_.first_token <= options_.service_time && options_.room > 0);
}

NullTarget::~NullTarget() { stop(steady_now()); }

Result<void> NullTarget::start(CompletionSink& sink, const TargetWishes& wishes) {
  sink_ = &sink;
  wishes_ = wishes;
  if (options_.service_time == Nanos(0) && !options_.silent) return {};
  slot_free_.assign(options_.slots, SteadyTime());
  ring_.resize(std::bit_ceil(options_.room));
  thread_ = std::jthread([this](const std::stop_token& stopping) { answer_when_due(stopping); });
  return {};
}

void NullTarget::issue(std::span<const Request> requests) noexcept {
  if (!thread_.joinable()) return answer_at_once(requests);
  const SteadyTime now = steady_now();
  for (const auto& request : requests) enqueue(request, now);
  bell_.fetch_add(1, std::memory_order_release);
  bell_.notify_one();
}

void NullTarget::answer_at_once(std::span<const Request> requests) noexcept {
  constexpr std::size_t kBatch = 128;
  std::array<Completion, kBatch> batch;
  const SteadyTime now = steady_now();
  const TokenArrival arrival{now, options_.output_tokens};
  while (!requests.empty()) {
    const std::size_t count = std::min(kBatch, requests.size());
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint64_t id = requests[i].id;
      Completion& report = batch[i];
      report.id = id;
      report.sent = now;
      report.first_token = now;
      report.done = now;
      report.input_tokens = options_.input_tokens;
      report.output_tokens = options_.output_tokens;
      if (wishes_.token_times) report.token_times = std::span(&arrival, 1);
      const bool failed = fails(id);
      report.outcome = failed ? RequestOutcome::error : RequestOutcome::ok;
      report.error = failed ? RequestError::server : RequestError::none;
    }
    sink_->complete(std::span<const Completion>(batch.data(), count));
    requests = requests.subspan(count);
  }
}

void NullTarget::enqueue(const Request& request, SteadyTime now) noexcept {
  Pending pending{.request = request, .issued = now, .begun = now};
  if (!slot_free_.empty()) {
    SteadyTime& free = slot_free_[begun_++ % slot_free_.size()];
    pending.begun = std::max(now, free);
    free = pending.begun + options_.service_time;
  }
  const SteadyTime done = options_.silent ? SteadyTime::max() : pending.begun + options_.service_time;
  // A server does not hear of its clients' patience: the slot stays taken.
  const SteadyTime limit = request.scheduled + wishes_.request_timeout;
  pending.timed_out = done > limit;
  pending.end = std::min(done, limit);
  const std::uint32_t pushed = pushed_.load(std::memory_order_relaxed);
  if (pushed - popped_.load(std::memory_order_acquire) == ring_.size()) {
    sink_->complete(Completion{.id = request.id,
                               .sent = now,
                               .done = now,
                               .outcome = RequestOutcome::error,
                               .error = RequestError::overloaded});
    return;
  }
  ring_[pushed & (ring_.size() - 1)] = pending;
  pushed_.store(pushed + 1, std::memory_order_release);
}

void NullTarget::answer_when_due(const std::stop_token& stopping) {
  while (!stopping.stop_requested()) {
    const std::uint32_t heard = bell_.load(std::memory_order_acquire);
    const std::uint32_t popped = popped_.load(std::memory_order_relaxed);
    if (popped == pushed_.load(std::memory_order_acquire)) {
      bell_.wait(heard, std::memory_order_acquire);
      continue;
    }
    // Service times are all alike, so requests end in the order in which they came.
    const Pending& next = ring_[popped & (ring_.size() - 1)];
    const SteadyTime now = steady_now();
    if (next.end > now) {
      std::this_thread::sleep_until(std::min(next.end, now + kLongestNap));
      continue;
    }
    report(next, next.timed_out ? RequestOutcome::timeout : RequestOutcome::ok);
    popped_.store(popped + 1, std::memory_order_release);
  }
}

void NullTarget::report(const Pending& pending, RequestOutcome outcome) {
  Completion completion{.id = pending.request.id,
                        .sent = pending.issued,
                        .done = pending.end,
                        .input_tokens = options_.input_tokens,
                        .outcome = outcome};
  if (outcome == RequestOutcome::ok && fails(pending.request.id)) {
    completion.outcome = RequestOutcome::error;
    completion.error = RequestError::server;
  }
  if (completion.outcome == RequestOutcome::ok) {
    completion.first_token = pending.begun + options_.first_token;
    completion.output_tokens = options_.output_tokens;
    if (wishes_.token_times) {
      arrivals_.clear();
      const Nanos rest = pending.end - completion.first_token;
      const auto gaps = std::max<std::int64_t>(1, std::int64_t{options_.output_tokens} - 1);
      for (std::int64_t i = 0; i < options_.output_tokens; ++i) {
        arrivals_.push_back({completion.first_token + rest * i / gaps, 1});
      }
      completion.token_times = arrivals_;
    }
  }
  sink_->complete(completion);
}

void NullTarget::stop(SteadyTime /*deadline*/) noexcept {
  if (!thread_.joinable()) return;
  thread_.request_stop();
  bell_.fetch_add(1, std::memory_order_release);
  bell_.notify_one();
  thread_.join();
  const SteadyTime now = steady_now();
  for (std::uint32_t i = popped_.load(); i != pushed_.load(); ++i) {
    Pending& pending = ring_[i & (ring_.size() - 1)];
    pending.end = now;
    report(pending, RequestOutcome::cancelled);
  }
  popped_.store(pushed_.load());
}

}  // namespace assay
