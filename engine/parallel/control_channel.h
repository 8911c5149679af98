#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "parallel/control_options.h"
#include "parallel/hub.h"
#include "parallel/peer_failure.h"
#include "parallel/rank_place.h"

namespace assay::engine {

/// What the ranks of a run tell each other besides tensors: who is there, small values, who died. Every rank has one
/// TCP connection to rank 0 and one thread that serves it, whatever the main thread is doing; so a process that dies
/// (its connection ends without `leave`) is known to all at once, and one that is stopped or whose host has vanished
/// after `limits.silence`.
///
/// Calls that wait for others end with PeerFailure once a rank is lost, and so does every later call. Methods may be
/// called from any thread; `gather` and `leave` by all ranks in the same order.
class ControlChannel {
 public:
  /// Blocks until all ranks are there. Throws PeerFailure `lost_peer` that names the missing ones after
  /// `limits.join`, Failure `bad_spec` if rank 0 refuses this process, `busy` or `io` if rank 0 cannot listen.
  static std::unique_ptr<ControlChannel> join(const RankPlace& place, ControlOptions options);

  /// Without `leave` or `fail` before, the others take this rank for dead.
  ~ControlChannel();

  /// Every rank's value, in the order of ranks, on every rank. At most `largest_value()` bytes of JSON each, else
  /// std::length_error.
  std::vector<boost::json::value> gather(const boost::json::value& mine);
  std::size_t largest_value() const;

  /// Values by name, seen by all ranks; a name is written once. `get` waits for it.
  void put(const std::string& key, const std::string& value);
  std::string get(const std::string& key);

  /// Waits until every rank has called it; from then on nobody can be lost.
  void leave();
  /// Tells the others why this rank ends: they throw PeerFailure of the same kind. Waits two seconds at most.
  void fail(const Failure& failure) noexcept;

  void throw_if_lost();
  /// After the connection to another rank broke: waits up to `limits.grace` to learn who died, and throws. If nobody
  /// did, the message is `otherwise`.
  [[noreturn]] void throw_loss(const std::string& otherwise);
  bool is_lost() const;

  const RankPlace& place() const { return place_; }
  /// By rank.
  const std::vector<std::string>& hosts() const { return hosts_; }
  /// The numeric address at which other ranks reach this process.
  const std::string& address() const { return address_; }

 private:
  ControlChannel(const RankPlace& place, ControlOptions options);
  void connect();
  void await_welcome();
  void post(boost::json::object message);

  // On the channel's thread.
  void run();
  void wait_for_work();
  bool serve(SteadyTime now);
  void read_messages(SteadyTime now);
  void handle(const boost::json::object& message);
  void judge(Verdict verdict);
  void end_if_stuck(SteadyTime now);

  PeerFailure failure_of(const Verdict& verdict) const;
  [[noreturn]] void throw_verdict(std::unique_lock<std::mutex>& lock);
  template <typename Ready>
  void wait_until(std::unique_lock<std::mutex>& lock, Ready ready);

  const RankPlace place_;
  ControlOptions options_;
  std::vector<std::string> hosts_;  // set before `join` returns, constant afterwards
  std::string address_;

  // The thread's own.
  std::unique_ptr<Hub> hub_;
  std::optional<MessageStream> stream_;
  Fd wake_;
  SteadyTime heard_;
  SteadyTime last_beat_;
  bool open_ = true;
  bool called_stuck_ = false;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<boost::json::object> outbox_;
  std::optional<boost::json::object> welcome_;
  std::optional<std::string> refusal_;
  std::map<std::int64_t, std::vector<boost::json::value>> gathered_;
  std::map<std::string, std::string> values_;
  std::int64_t round_ = 0;
  std::optional<Verdict> verdict_;
  SteadyTime stuck_at_;  ///< when the process should have ended, once there is a verdict
  bool finished_ = false;
  bool failed_ = false;
  bool stop_ = false;

  std::thread thread_;  // last: it uses everything above
};

}  // namespace assay::engine
