#pragma once

#include <atomic>
#include <memory>
#include <thread>

#include "target/target.h"

namespace assay {

struct NullTargetOptions {
  /// How long an answer takes once it is begun. 0: every request is answered inside `issue`, on the caller's thread.
  Nanos service_time{0};
  Nanos first_token{0};             ///< from the beginning of an answer to its first token; at most service_time
  std::uint32_t slots = 0;          ///< answers that can go on at once, first come, first served; 0: any number
  std::uint32_t input_tokens = 0;   ///< of every request, as reported
  std::uint32_t output_tokens = 1;  ///< of every answer
  std::uint32_t fail_every = 0;     ///< the n-th, 2n-th, … request ends as error `server`; 0: none
  std::uint32_t room = 1u << 16;    ///< requests in flight; what is beyond ends as error `overloaded`
  bool silent = false;              ///< never answers
};

/// A target without a server. With nothing set it measures the load generator itself; with a service time and slots it
/// is the plainest model of a server (a queue of fixed service times), whose capacity is slots / service_time requests
/// a second. Times that it reports are those of the model, not of its thread's wake-up, and lie in the past when
/// reported.
class NullTarget final : public Target {
 public:
  explicit NullTarget(NullTargetOptions options = {});
  ~NullTarget() override;
  NullTarget(const NullTarget&) = delete;
  NullTarget& operator=(const NullTarget&) = delete;

  std::string_view name() const override { return "null"; }
  std::vector<std::string> endpoints() const override { return {"null"}; }
  Result<void> start(CompletionSink& sink, const TargetWishes& wishes) override;
  void issue(std::span<const Request> requests) noexcept override;
  void stop(SteadyTime deadline) noexcept override;

 private:
  struct Pending {
    Request request;
    SteadyTime issued{};
    SteadyTime begun{};
    SteadyTime end{};  ///< of the answer, or when it times out
    bool timed_out = false;
  };

  void answer_at_once(std::span<const Request> requests) noexcept;
  void enqueue(const Request& request, SteadyTime now) noexcept;
  void answer_when_due(const std::stop_token& stopping);
  void report(const Pending& pending, RequestOutcome outcome);
  bool fails(std::uint64_t id) const { return options_.fail_every > 0 && (id + 1) % options_.fail_every == 0; }

  NullTargetOptions options_;
  TargetWishes wishes_;
  CompletionSink* sink_ = nullptr;
  std::vector<SteadyTime> slot_free_;  ///< when the slot that is next in turn becomes free; the dispatcher's alone
  std::uint64_t begun_ = 0;
  // One producer (the dispatcher) and one consumer (the thread): a ring with two counters.
  std::vector<Pending> ring_;
  std::atomic<std::uint32_t> pushed_{0};
  std::atomic<std::uint32_t> popped_{0};
  std::atomic<std::uint32_t> bell_{0};
  std::vector<TokenArrival> arrivals_;  ///< the thread's
  std::jthread thread_;
};

}  // namespace assay
