#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "model/run.h"
#include "store/run_store.h"

namespace assay {

/// What became of what was to be shipped.
struct Shipment {
  enum class End {
    complete,  ///< the leader has all of it, and knows that it ended
    refused,   ///< the leader wants no more of it: `error` says why
    kept,      ///< there was no time for all of it; another shipper can go on
  };
  End end = End::kept;
  std::optional<Error> error;
};

/// Brings what one run records on this node to the leader while it is recorded. Everything can be repeated: the leader
/// says how much it has, so nothing is lost or there twice whoever was away or started again. Leaves the run in the
/// local store.
class Shipper {
 public:
  virtual ~Shipper() = default;

  /// Blocks until the run is there, or refused. Once `stop` is requested it does not wait for the leader any more, but
  /// still for the run to end here. One thread.
  virtual Shipment ship(const std::stop_token& stop) = 0;

  // Any thread.
  /// There is something new to ship.
  void look_again();
  /// No run was begun here, and none will be: it ends so.
  void end_with(Run run);
  /// It goes on without this agent: what is not shipped yet is another shipper's.
  void leave();
  /// Whether the leader still wants this node to do the run. Once it does not, it is asked whether the run is ours.
  void set_listed(bool listed);

 protected:
  /// Until `pause` is over or something happens. With `stop` requested, a look at what was recorded still takes a
  /// while.
  void rest(const std::stop_token& stop, Nanos pause, Nanos look);
  bool is_listed();
  bool is_left();
  /// Whether it has just been taken from the list; said once.
  bool is_unlisted_now();
  std::optional<Run> never_began();

 private:
  std::mutex mutex_;
  std::condition_variable_any changed_;
  bool look_now_ = false;
  bool left_ = false;
  bool listed_ = true;
  bool unlisted_now_ = false;
  std::optional<Run> never_began_;
};

/// The leader's answer to whoever asks for what is not theirs, in contrast to its troubles.
bool is_refusal(ErrorKind kind);
/// What goes wrong with our own store must not be taken for an answer of the leader.
Error of_this_node(Error error);

/// Whole frames of a journal of this node from there on, of about `piece` bytes or one frame; nothing where it ends.
struct JournalPiece {
  std::string frames;
  bool damaged = false;  ///< something follows that is no frame, or not yet
};
Result<JournalPiece> next_piece(RunStore& local, const std::string& run, const std::string& journal,
                                std::uint64_t offset, std::size_t piece);

}  // namespace assay
