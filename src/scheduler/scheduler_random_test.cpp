// Random events against what must hold whatever happens, and against a plain model that looks at every job each time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "base/random.h"
#include "scheduler/scheduler.h"
#include "scheduler/scheduler_fixture.h"

namespace assay {
namespace {

/// Keeps its own books of what runs where.
class SchedulerBooks {
 public:
  explicit SchedulerBooks(std::uint64_t seed) : random_(seed, "scheduler") {
    for (const char* user : {"ann", "bob", "cleo"}) {
      quota_[user] = static_cast<int>(8 + random_.below(8));
      scheduler_.set_user(user, {.weight = 1.0 + static_cast<double>(random_.below(3)), .most_gpus = quota_[user]});
    }
    for (int i = 0; i < 6; ++i) bring_up(i);
  }

  void step() {
    now_ += random_.exponential(0.1);
    const std::uint64_t event = random_.below(100);
    if (event < 45)
      submit();
    else if (event < 85)
      end_one(random_.below(10) == 0 ? JobOutcome::failed : JobOutcome::succeeded);
    else if (event < 88)
      take_down(static_cast<int>(random_.below(6)));
    else if (event < 91)
      bring_up(static_cast<int>(random_.below(6)));
    else if (event < 93)
      close_or_open(static_cast<int>(random_.below(6)));
    else if (event < 94)
      take_back();
    else if (event < 96)
      hold_or_release();
    else if (event < 98)
      plan_maintenance(static_cast<int>(random_.below(6)));
    else
      cancel();
    decide();
  }

  /// Everything that can run must end once nothing new comes.
  void drain() {
    for (int i = 0; i < 6; ++i) bring_up(i);
    while (!closed_.empty()) close_or_open(*closed_.begin());
    for (const std::string& id : held_) ASSERT_TRUE(scheduler_.release(id, at_second(now_)));
    held_.clear();
    decide();
    for (int i = 0; i < 100'000 && scheduler_.waiting() + scheduler_.running() > 0; ++i) {
      now_ += 200;
      if (!running_.empty()) end_one(JobOutcome::succeeded);
      decide();
      ASSERT_TRUE(!running_.empty() || scheduler_.next_look() || scheduler_.waiting() == 0) << "nothing moves";
    }
    EXPECT_EQ(scheduler_.waiting(), 0U);
    EXPECT_EQ(scheduler_.running(), 0U);
  }

 private:
  void bring_up(int node) {
    if (!up_.insert(node).second) return;
    ASSERT_TRUE(scheduler_.node_up(offer_of(node)));
  }
  NodeOffer offer_of(int node) const {
    NodeOffer offer = node_with(fmt::format("n{}", node), node < 2 ? 2 : 4, node % 2 == 0 ? "H200" : "V100");
    offer.rack = fmt::format("r{}", node / 3);
    if (node == 5) offer.speed = 0.5;
    if (const auto known = maintenance_.find(node); known != maintenance_.end()) {
      offer.maintenance = {at_second(known->second), at_second(known->second + kMaintenance)};
    }
    return offer;
  }
  void plan_maintenance(int node) {
    if (!up_.contains(node) || closed_.contains(node)) return;
    maintenance_[node] = now_ + 300;
    ASSERT_TRUE(scheduler_.node_up(offer_of(node)));
  }
  /// Takes nothing new, or does again; what runs there goes on.
  void close_or_open(int node) {
    NodeOffer offer = offer_of(node);
    if (!up_.contains(node)) return;
    if (closed_.erase(node) == 0) {
      closed_.insert(node);
      offer.closed = "is draining";
    }
    ASSERT_TRUE(scheduler_.node_up(offer));
  }
  void take_back() {
    if (running_.empty()) return;
    const std::string id = any_of_running();
    ASSERT_TRUE(scheduler_.take_back(id, at_second(now_)));
    vacate(id);
  }

  void take_down(int node) {
    if (up_.erase(node) == 0) return;
    closed_.erase(node);
    for (const std::string& id : scheduler_.node_down(fmt::format("n{}", node))) {
      ASSERT_TRUE(running_.contains(id));
      end(id, JobOutcome::lost);
    }
  }

  void submit() {
    JobRequest job = job_of(fmt::format("j{}", submitted_++), now_, 10 + random_.exponential(0.01));
    const char* users[] = {"ann", "bob", "cleo"};
    job.user = users[random_.below(3)];
    job.estimate.log_error = 0.3;
    job.priority = static_cast<int>(random_.below(3));
    job.needs.gpus = static_cast<int>(random_.below(5));
    if (random_.below(5) == 0) job.needs.nodes = 2;
    if (random_.below(3) == 0) job.needs.gpu_model = "H200";
    if (random_.below(8) == 0 && job.needs.nodes == 1) job.needs.on = {"n2"};
    if (job.needs.gpus == 0 && job.needs.gpu_model.empty() && random_.below(2) == 0) job.needs.cpus = true;
    if (job.needs.gpus == 1 && job.needs.nodes == 1 && job.needs.gpu_model.empty() && random_.below(8) == 0) {
      job.needs.on = {"n2"};
      job.needs.these = {"n2-1"};
    }
    if (job.needs.gpus == 4 && job.needs.nodes == 2) job.needs.gpu_model.clear();
    if (submitted_ > 3 && random_.below(6) == 0) {
      const std::string other = fmt::format("j{}", submitted_ - 2);
      if (requests_.contains(other)) job.after = {other};
    }
    if (random_.below(4) == 0) job.retry.attempts = 2;
    if (submitted_ % 7 == 0) job.needs.slower = {{"V100", submitted_ % 3}};
    ASSERT_TRUE(scheduler_.submit(job));
    requests_[job.id] = job;
  }

  std::string any_of_running() {
    auto place = running_.begin();
    std::advance(place, static_cast<std::ptrdiff_t>(random_.below(running_.size())));
    return place->first;
  }

  void end_one(JobOutcome outcome) {
    if (!running_.empty()) end(any_of_running(), outcome);
  }

  void end(const std::string& id, JobOutcome outcome) {
    const auto ended = scheduler_.ended(id, outcome, at_second(now_));
    ASSERT_TRUE(ended);
    vacate(id);
    if (ended->retry) return;
    if (outcome == JobOutcome::succeeded) succeeded_.insert(id);
    held_.erase(id);
    requests_.erase(id);
    for (const std::string& never : ended->never_runs) end(never, JobOutcome::cancelled);
  }

  void vacate(const std::string& id) {
    const auto place = running_.find(id);
    if (place == running_.end()) return;
    const JobRequest& job = requests_[id];
    for (const NodeShare& share : place->second.shares) {
      for (const std::string& gpu : share.gpus) taken_.erase(gpu);
      if (job.needs.alone()) alone_.erase(share.node);
      if (job.needs.cpus) on_cpus_.erase(share.node);
      --on_node_[share.node];
      in_use_[job.user] -= static_cast<int>(share.gpus.size());
    }
    running_.erase(place);
  }

  void hold_or_release() {
    if (!held_.empty() && random_.below(2) == 0) {
      ASSERT_TRUE(scheduler_.release(*held_.begin(), at_second(now_)));
      held_.erase(held_.begin());
    } else if (const std::string id = fmt::format("j{}", submitted_ - 1);
               requests_.contains(id) && !running_.contains(id)) {
      ASSERT_TRUE(scheduler_.hold(id));
      held_.insert(id);
    }
  }

  void cancel() {
    if (!requests_.empty() && !running_.contains(requests_.begin()->first)) {
      end(requests_.begin()->first, JobOutcome::cancelled);
    }
  }

  void decide() {
    for (const JobPlacement& placement : scheduler_.decide(at_second(now_)).start) check(placement);
  }

  void check(const JobPlacement& placement) {
    ASSERT_TRUE(requests_.contains(placement.job)) << placement.job;
    ASSERT_FALSE(running_.contains(placement.job));
    ASSERT_FALSE(held_.contains(placement.job));
    const JobRequest& job = requests_[placement.job];
    for (const std::string& other : job.after) ASSERT_TRUE(succeeded_.contains(other));
    ASSERT_EQ(placement.shares.size(), static_cast<std::size_t>(job.needs.nodes)) << "a gang is whole";
    std::set<std::string> nodes;
    for (const NodeShare& share : placement.shares) {
      const int node = std::stoi(share.node.substr(1));
      ASSERT_TRUE(up_.contains(node));
      ASSERT_FALSE(closed_.contains(node)) << "it takes nothing new";
      if (const auto known = maintenance_.find(node); known != maintenance_.end()) {
        const double end = now_ + seconds_of(job.at_most()) / (node == 5 ? 0.5 : 1) - 1e-6;
        ASSERT_TRUE(end <= known->second || now_ + 1e-6 >= known->second + kMaintenance) << "into a maintenance";
      }
      ASSERT_TRUE(nodes.insert(share.node).second);
      ASSERT_FALSE(alone_.contains(share.node)) << "beside a node benchmark";
      if (job.needs.alone()) {
        ASSERT_EQ(on_node_[share.node], 0);
        alone_.insert(share.node);
      } else {
        ASSERT_EQ(share.gpus.size(), static_cast<std::size_t>(job.needs.gpus));
      }
      if (job.needs.cpus) {
        ASSERT_TRUE(on_cpus_.insert(share.node).second) << "two jobs on the CPUs of " << share.node;
      }
      if (!job.needs.these.empty()) {
        ASSERT_EQ(share.gpus, job.needs.these);
      }
      if (!job.needs.on.empty()) {
        ASSERT_EQ(share.node, job.needs.on.front());
      }
      if (!job.needs.gpu_model.empty()) {
        ASSERT_EQ(node % 2, 0);
      }
      for (const std::string& gpu : share.gpus) ASSERT_TRUE(taken_.insert(gpu).second) << "two jobs on " << gpu;
      ++on_node_[share.node];
      in_use_[job.user] += static_cast<int>(share.gpus.size());
    }
    // A node benchmark has GPUs that it did not ask for; its quota counts what it asked for.
    if (!job.needs.alone()) {
      ASSERT_LE(in_use_[job.user], quota_[job.user]);
    }
    running_[placement.job] = placement;
  }

  static constexpr double kMaintenance = 400;

  Random random_;
  Scheduler scheduler_;
  double now_ = 0;
  int submitted_ = 0;
  std::map<std::string, int> quota_;
  std::map<std::string, int> in_use_;
  std::set<int> up_;
  std::set<int> closed_;
  std::map<int, double> maintenance_;  ///< when it begins, by node
  std::set<std::string> on_cpus_;
  std::map<std::string, JobRequest> requests_;
  std::map<std::string, JobPlacement> running_;
  std::set<std::string> succeeded_;
  std::set<std::string> held_;
  std::set<std::string> taken_;
  std::set<std::string> alone_;
  std::map<std::string, int> on_node_;
};

TEST(SchedulerRandomTest, RulesHoldWhateverHappensAndEverythingEnds) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(seed);
    SchedulerBooks books(seed);
    for (int i = 0; i < 400; ++i) books.step();
    books.drain();
    if (testing::Test::HasFatalFailure() || testing::Test::HasFailure()) return;
  }
}

/// Jobs of one GPU: the model takes every waiting job in order and starts it where there is a free GPU of its model.
TEST(SchedulerRandomTest, StartsWhatAPlainModelStarts) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed, "plain model");
    SchedulerOptions options;
    options.order.order = QueueOrder::first_come;
    Scheduler scheduler(options);
    std::map<std::string, int> free = {{"H200", 6}, {"V100", 3}};
    for (int i = 0; i < 3; ++i) {
      ASSERT_TRUE(scheduler.node_up(node_with(fmt::format("h{}", i), 2, "H200")));
      ASSERT_TRUE(scheduler.node_up(node_with(fmt::format("v{}", i), 1, "V100")));
    }
    std::map<std::pair<double, int>, JobRequest> waiting;
    std::vector<JobRequest> running;
    double now = 0;
    for (int i = 0; i < 600; ++i) {
      now += random.exponential(0.1);
      if (random.below(2) == 0) {
        JobRequest job = job_of(fmt::format("j{}", i), now, 60);
        job.needs.gpu_model = random.below(3) == 0 ? "V100" : "H200";
        job.priority = static_cast<int>(random.below(2));
        ASSERT_TRUE(scheduler.submit(job));
        waiting[{seconds_since_epoch(job.submitted) - job.priority * 3600.0, i}] = job;
      } else if (!running.empty()) {
        const auto index = static_cast<std::ptrdiff_t>(random.below(running.size()));
        ++free[running[static_cast<std::size_t>(index)].needs.gpu_model];
        ASSERT_TRUE(
            scheduler.ended(running[static_cast<std::size_t>(index)].id, JobOutcome::succeeded, at_second(now)));
        running.erase(running.begin() + index);
      }
      std::vector<std::string> expected;
      for (auto place = waiting.begin(); place != waiting.end();) {
        int& left = free[place->second.needs.gpu_model];
        if (left == 0) {
          ++place;
          continue;
        }
        --left;
        expected.push_back(place->second.id);
        running.push_back(place->second);
        place = waiting.erase(place);
      }
      ASSERT_THAT(ids_of(scheduler.decide(at_second(now))), testing::ElementsAreArray(expected));
    }
  }
}

/// What a leader does after a crash: the same nodes, users and jobs, those that run among them.
TEST(SchedulerRandomTest, GoesOnAfterItWasRebuiltFromWhatIsStored) {
  Scheduler before;
  Random random(7, "rebuild");
  std::map<std::string, JobRequest> stored;
  std::map<std::string, std::pair<JobPlacement, WallTime>> running;
  const auto nodes = [](Scheduler& scheduler) {
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(scheduler.node_up(node_with(fmt::format("n{}", i), 4)));
  };
  nodes(before);
  std::vector<std::string> order;
  for (int i = 0; i < 100; ++i) {
    const JobRequest job = job_of(fmt::format("j{}", i), i, 50 + static_cast<double>(random.below(500)));
    stored[job.id] = job;
    order.push_back(job.id);
    ASSERT_TRUE(before.submit(job));
    for (const JobPlacement& placement : before.decide(at_second(i)).start) {
      running[placement.job] = {placement, at_second(i)};
    }
  }
  Scheduler after;
  nodes(after);
  for (const std::string& id : order) ASSERT_TRUE(after.submit(stored[id]));
  for (const auto& [id, start] : running) {
    const auto done = after.started(start.first, start.second);
    ASSERT_TRUE(done) << done.error().text();
  }
  EXPECT_EQ(after.running(), before.running());
  EXPECT_EQ(after.waiting(), before.waiting());
  after.decide(at_second(100));
  before.decide(at_second(100));
  // From here on both do the same.
  std::set<std::string> ended;
  for (int i = 0; i < 300 && !running.empty(); ++i) {
    const std::string id = running.begin()->first;
    running.erase(id);
    ended.insert(id);
    const WallTime now = at_second(101 + i);
    ASSERT_TRUE(before.ended(id, JobOutcome::succeeded, now));
    ASSERT_TRUE(after.ended(id, JobOutcome::succeeded, now));
    const SchedulerDecision one = before.decide(now);
    const SchedulerDecision two = after.decide(now);
    ASSERT_EQ(one.start, two.start) << "step " << i;
    for (const JobPlacement& placement : one.start) running[placement.job] = {placement, now};
  }
  EXPECT_EQ(ended.size(), 100U);
}

}  // namespace
}  // namespace assay
