#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "leader/event_budget.h"
#include "leader/intake_budget.h"
#include "leader/node_clock.h"
#include "model/node_record.h"
#include "model/node_state.h"
#include "store/series_info.h"

namespace assay {

struct AgentHello;
struct Batch;
struct ClusterEvent;
struct DeviceFacts;
struct GpuProcess;
struct NodeOutline;
struct NodeStatus;
struct SeriesName;
enum class GpuField : std::uint8_t;

/// The newest value of one series of a node.
struct LiveValue {
  SeriesInfo series;
  std::optional<GpuField> gpu_field;  ///< what it is to the rules
  double value = 0;
  std::int64_t time_ns = 0;   ///< 0: none yet
  std::uint64_t changed = 0;  ///< the count of changes of its node when it came
};

/// How often an agent must be heard of.
inline constexpr Nanos kHeartbeat = std::chrono::seconds(1);
/// After how many it is offline.
inline constexpr int kMissedHeartbeats = 3;

/// One node as the leader sees it: what its agent said of it, the names of its series, their newest values. Any thread.
class Node {
 public:
  explicit Node(NodeRecord record);
  ~Node();

  // --- its agent ---

  /// Takes the facts of a hello. Gives back what has changed, in words.
  std::vector<std::string> say_hello(const AgentHello& hello, Heartbeat heartbeat);
  /// Takes the devices that a batch brought. Gives back what has changed, in words.
  std::vector<std::string> set_devices(std::vector<DeviceFacts> devices);
  void set_processes(std::vector<GpuProcess> processes);
  void heard(Heartbeat heartbeat, std::optional<double> clock_skew_s);
  /// Whether what a batch says of the machine is at least as new as what is known of it: one from a spool tells of a
  /// time that is over, and devices are told again only when they change. From then on, the older is not news.
  bool is_news(const Batch& batch);

  // --- streams of batches: series are numbered within one ---

  /// Held while a request of its agent is taken in: what was named in one must stand before the next one is looked at.
  /// False: another one is; nobody waits. As long as it is held the node is not silent, however long that takes.
  class Intake {
   public:
    Intake(Node& node, const Clock& clock);
    Intake(const Intake&) = delete;
    Intake& operator=(const Intake&) = delete;
    ~Intake();
    explicit operator bool() const { return held_; }

   private:
    Node& node_;
    const Clock& clock_;
    const bool held_;
    Nanos processor_time_{};  ///< of this thread, when it began
  };
  /// How long until its agent may send more; zero: now.
  Nanos intake_wait(const IntakeLimits& limits, SteadyTime now);
  void spend(const IntakeWork& work, const IntakeLimits& limits, SteadyTime now);
  enum class StreamState { ready, unknown_stream, unknown_series };
  /// Whether a batch can be taken: its stream said hello, and every series that it counts on was named.
  StreamState stream_state(const Batch& batch) const;
  /// How many series of the stream are known.
  std::size_t known_series(std::string_view stream) const;
  /// Appends to the numbered series of a stream. An id of nothing: the store refused it, and its samples are skipped.
  void name_series(std::string_view stream, const std::vector<std::optional<SeriesInfo>>& series);
  /// For each of these, whether the node has that series already or may have one more, `most` in all.
  std::vector<bool> admit_series(std::span<const SeriesName> series, std::size_t most) const;
  /// The store no longer has some of them: all must be named again. Sequences stay.
  void forget_series();
  /// The same before the next request is looked at, if any was refused: there may be room now.
  void ask_again_for_refused();
  /// The samples of a batch by the store's ids.
  std::vector<SeriesSample> resolve(const Batch& batch) const;
  /// Remembers the newest values. `sequence` counts as received.
  void remember(const Batch& batch);
  std::uint64_t last_sequence(std::string_view stream) const;
  /// Takes out the events that are more than a node may have; how many.
  std::size_t limit_events(std::vector<ClusterEvent>& events, Heartbeat now, std::size_t per_hour) const;
  /// Those were kept.
  void count_events(std::span<const ClusterEvent> events, Heartbeat now, std::size_t per_hour);
  /// Counts a fault that the driver reported.
  void count_xid(const std::string& gpu, int xid);
  std::size_t series_count() const;  ///< Called by bench/live_hub.
  /// Its clock less ours; NaN: not known.
  double clock_skew_s() const;
  NodeClock::State clock_state() const;
  /// Our clock is wrong, or not: whether its times may be put right by ours.
  void doubt_our_clock(bool doubtful);
  /// Puts the times of samples and events right where its clock is steadily wrong.
  void correct_times(Batch& batch, WallTime now) const;
  /// Whether a request of it is taken in now.
  bool is_in_hand() const;
  /// Nobody could hear it until now, though it may have spoken: if it was there, it still is.
  void excuse(SteadyTime now);

  // --- for everybody else ---

  std::string name() const;
  WallTime first_seen() const;
  NodeStatus status(SteadyTime now) const;
  NodeState state(SteadyTime now) const;
  NodeOutline outline(SteadyTime now) const;
  NodeRecord record() const;
  void set_draining(bool draining, std::string reason, std::optional<Maintenance> maintenance = {});
  enum class MaintenanceTurn { none, begins, ends };
  /// Drains it when its maintenance has begun, and opens it when that is over; what of it is so now.
  MaintenanceTurn turn_maintenance(WallTime now);
  struct Unsaved {
    NodeRecord record;
    std::uint64_t version = 0;
  };
  /// What is to be written down of it; nothing: it stands there, but for when the node was heard of last.
  std::optional<Unsaved> unsaved() const;
  /// That version was.
  void note_saved(std::uint64_t version);
  /// Calls `take` for every value whose last change was after the first of these counts, and not after the second.
  template <typename Take>
  void for_each_value(std::uint64_t changed_after, Take&& take, std::uint64_t until = UINT64_MAX) const {
    const std::lock_guard lock(mutex_);
    if (std::min(changes_, until) <= changed_after) return;
    for (const auto& value : live_) {
      if (value.time_ns != 0 && value.changed > changed_after && value.changed <= until) take(value);
    }
  }

 private:
  struct Stream {
    std::string id;
    std::vector<std::uint32_t> places;  ///< in `live_`, by number; kNowhere where the store refused the series
    std::uint64_t last_sequence = 0;
    SteadyTime used;
  };
  static constexpr std::uint32_t kNowhere = UINT32_MAX;
  /// The live one, and one that is sent from a spool; one more while they change.
  static constexpr std::size_t kMaxStreams = 3;

  void change_record(NodeRecord record);
  NodeState state_locked(SteadyTime now) const;
  /// What the node's own clock shows, and a little more: a value from later than this was read by a wrong clock, and
  /// whatever comes after it counts as newer.
  std::int64_t latest_time_ns() const;
  void drop_unnamed();
  Stream* find_stream(std::string_view id);
  const Stream* find_stream(std::string_view id) const;

  void forget_series_locked();

  std::mutex intake_mutex_;  ///< taken before the other one
  mutable std::mutex mutex_;
  bool in_hand_ = false;    ///< a request of it is taken in
  bool ask_again_ = false;  ///< for all series, when the next one is
  NodeRecord record_;
  std::uint64_t version_ = 1;        ///< of the record: it changes with every word but `last_seen`
  std::uint64_t saved_version_ = 0;  ///< that was written down
  std::optional<Heartbeat> last_heard_;
  NodeClock clock_;
  std::optional<std::vector<GpuProcess>> processes_;
  std::int64_t machine_time_ns_ = 0;  ///< of what is known of devices and processes
  std::vector<Stream> streams_;
  std::deque<LiveValue> live_;
  std::unordered_map<SeriesId, std::uint32_t> place_of_;
  std::uint64_t changes_ = 0;
  std::uint64_t told_ = 1;
  std::uint64_t samples_ = 0;
  std::map<std::pair<std::string, int>, std::uint64_t> xids_;
  EventBudget event_budget_;
  IntakeBudget intake_budget_;
  IntakeTotals intake_;
};

}  // namespace assay
