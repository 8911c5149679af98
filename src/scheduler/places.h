#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "scheduler/job_request.h"
#include "scheduler/node_offer.h"

namespace assay {

using NodeNumber = std::uint32_t;
using JobNumber = std::uint32_t;

/// Which GPUs of a kind of node a job could take.
struct KindFit {
  std::uint32_t kind = 0;
  std::uint64_t gpus = 0;  ///< a bit for each
  bool all = false;        ///< every GPU of the node will do, in any combination: free ones need only be counted
};

/// What a job looks for beside its needs.
struct PlaceWish {
  std::string data;  ///< may be empty
  Nanos at_most{};   ///< how long it may take on a node of speed 1
  WallTime now{};
};

/// Tier 1: the nodes, what runs on them, and where a job fits. Nodes with the same GPUs are of one kind and are listed
/// by how many GPUs they have free, so that ten thousand of them cost no more than a few. A GPU has one job at most,
/// and so have the CPUs of a node; nothing runs beside a job that needs its node alone. Nodes are numbered in the order
/// of their first offer, and of places that are equally good the lowest number is taken.
class Places {
 public:
  struct Tenant {
    JobNumber job = 0;
    std::uint64_t gpus = 0;
    bool alone = false;
    bool cpus = false;
    WallTime expected_end{};
  };
  struct Node {
    NodeOffer offer;
    std::uint32_t kind = 0;
    std::uint64_t free = 0;
    std::vector<Tenant> tenants;
    bool up = false;
    std::optional<WallTime> reserved;  ///< for a job that begins then; others may run until then
    bool cpus_reserved = false;        ///< the same for jobs that use its CPUs alone

    bool takes_jobs() const { return up && offer.closed.empty(); }
    bool cpus_free() const;
  };

  /// A new node, or a known one whose offer changed: jobs keep those of their GPUs that are still there. At most
  /// `kMostGpusOfNode` GPUs, checked by the caller. Returns its number.
  NodeNumber put(const NodeOffer& offer);
  /// The jobs that ran there.
  std::vector<JobNumber> take_down(NodeNumber node);

  std::optional<NodeNumber> number_of(const std::string& name) const;
  const Node& node(NodeNumber number) const { return nodes_[number]; }
  std::size_t nodes() const { return nodes_.size(); }
  std::size_t kinds() const { return kinds_.size(); }
  std::size_t nodes_of(std::uint32_t kind) const { return kinds_[kind].up; }
  std::size_t gpus_up() const { return gpus_up_; }

  /// A bit for each of these GPUs that the node has.
  std::uint64_t mask_on(NodeNumber number, const std::vector<std::string>& uuids) const;

  /// The kinds of nodes that have what is needed, best first: for a job that uses CPUs alone those with the fewest
  /// GPUs, then those where it is known to end soonest, then the fastest, then the smallest GPUs that will do.
  std::vector<KindFit> fits_of(const JobNeeds& needs) const;
  /// Whether the job would fit if nothing ran. Says why not in `reason`, if that is given.
  bool could_ever_fit(const JobNeeds& needs, std::span<const KindFit> fits, std::string* reason = nullptr) const;

  /// Nodes where all of the job fits now; empty: none. All or nothing.
  std::vector<NodeNumber> find(const JobNeeds& needs, std::span<const KindFit> fits, const PlaceWish& wish) const;
  /// How long a job may take, on a node of speed 1, to fill a gap on a node that others wait for; 0: there is none.
  Nanos longest_gap(const JobNeeds& needs, std::span<const KindFit> fits, WallTime now) const;
  /// Whether the job fits on this one, were it not reserved and no maintenance ahead.
  bool fits_on(NodeNumber number, const JobNeeds& needs, std::span<const KindFit> fits) const;
  /// Whether a job that begins then will have ended before the node's maintenance, or begins behind it.
  bool ends_in_time(NodeNumber number, WallTime start, Nanos at_most) const;
  /// A node where a job of one node has room, and where it would run into a maintenance; nothing: there is none.
  std::optional<NodeNumber> kept_by_maintenance(const JobNeeds& needs, std::span<const KindFit> fits,
                                                const PlaceWish& wish) const;

  /// Nodes on which all of the job probably fits soonest, and when; empty where there are too few that are not
  /// reserved and whose maintenance it would not run into, leaving `without` alone. A job that takes longer than was
  /// thought will probably take as long again as it is late by now.
  struct DrainPlan {
    std::vector<NodeNumber> nodes;
    WallTime ready{};
  };
  DrainPlan plan_drain(const JobNeeds& needs, std::span<const KindFit> fits, const PlaceWish& wish,
                       const std::set<NodeNumber>& without) const;

  /// Takes GPUs for a job, preferring linked ones; it must fit. Returns their share.
  NodeShare occupy(NodeNumber number, JobNumber job, const JobNeeds& needs, std::span<const KindFit> fits,
                   WallTime expected_end);
  /// Takes just these GPUs, for a job that runs already. False where one is unknown or taken.
  bool occupy_named(NodeNumber number, JobNumber job, const NodeShare& share, const JobNeeds& needs,
                    WallTime expected_end);
  void vacate(NodeNumber number, JobNumber job);
  /// Of a job that runs there.
  void expect_end(NodeNumber number, JobNumber job, WallTime end);
  /// For a job that begins then; `cpus`: it needs those, too.
  void reserve(NodeNumber number, WallTime until, bool cpus);
  void open_again(NodeNumber number);
  /// Forgets a maintenance that is over. Returns whether there was one.
  bool end_maintenance(NodeNumber number, WallTime now);

 private:
  struct Kind {
    std::vector<GpuOffer> gpus;  ///< without their UUIDs
    double speed = 1;
    std::size_t up = 0;
    std::size_t taking = 0;                     ///< of those that are up, that take jobs
    std::vector<std::set<NodeNumber>> by_free;  ///< nodes with so many free GPUs and no restriction
    std::set<NodeNumber> idle;                  ///< those on which nothing runs
    std::set<NodeNumber> cpus_free;             ///< those whose CPUs no job has
    /// Reserved, or with a maintenance ahead: by when that begins, so that gaps which are too short cost nothing.
    std::set<std::pair<WallTime, NodeNumber>> restricted;
    std::set<NodeNumber> maintained;  ///< of those the ones that are not reserved
  };

  std::uint32_t kind_of(const NodeOffer& offer);
  void list(NodeNumber number);
  void unlist(NodeNumber number);
  const KindFit* fit_for(NodeNumber number, std::span<const KindFit> fits) const;
  bool has_room(const Node& node, const JobNeeds& needs, const KindFit& fit) const;
  /// The same with other jobs there than there are now.
  struct Room {
    std::uint64_t free = 0;  ///< GPUs
    bool idle = false;
    bool cpus_free = false;
  };
  bool would_have_room(const Node& node, const Room& room, const JobNeeds& needs, const KindFit& fit) const;
  void count_node(const Node& node, int by);
  bool open_for(NodeNumber number, const JobNeeds& needs, const PlaceWish& wish) const;
  /// Until when a job of that kind may run on it, as far as others wait for the node.
  static std::optional<WallTime> reserved_from(const Node& node, const JobNeeds& needs);
  std::uint64_t choose_gpus(const Node& node, const JobNeeds& needs, std::uint64_t among) const;
  /// The first of the restricted nodes of a kind on which the job may end in time.
  std::set<std::pair<WallTime, NodeNumber>>::const_iterator first_gap(std::uint32_t kind, const JobNeeds& needs,
                                                                      const PlaceWish& wish) const;
  std::optional<NodeNumber> find_one(const JobNeeds& needs, std::span<const KindFit> fits, const PlaceWish& wish) const;
  std::vector<NodeNumber> find_pinned(const JobNeeds& needs, std::span<const KindFit> fits,
                                      const PlaceWish& wish) const;
  std::vector<NodeNumber> find_gang(const JobNeeds& needs, std::span<const KindFit> fits, const PlaceWish& wish) const;
  std::vector<NodeNumber> together(const std::vector<NodeNumber>& candidates, std::size_t count) const;
  WallTime ready_at(const Node& node, const JobNeeds& needs, const KindFit& fit, WallTime now) const;

  std::vector<Node> nodes_;
  std::vector<Kind> kinds_;
  std::size_t gpus_up_ = 0;
  std::unordered_map<std::string, NodeNumber> numbers_;
  std::map<std::pair<double, std::vector<GpuOffer>>, std::uint32_t> kind_numbers_;
  std::unordered_map<std::string, std::set<NodeNumber>> holders_;
};

}  // namespace assay
