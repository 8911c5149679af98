#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <limits>
#include <utility>

#include "base/text.h"
#include "scheduler/scheduler.h"

namespace assay {
namespace {

/// How far a preview looks: what waits behind so many others will not start soon anyway.
constexpr std::size_t kPreviewedJobs = 10'000;

/// When each GPU of a node is free, and its CPUs, as jobs are placed one after the other in thought.
struct NodeOutlook {
  NodeNumber number = 0;
  std::vector<WallTime> free_at;  ///< by GPU
  WallTime cpus_at{};
};

/// What a job would take of a node, and when all of it is free.
struct Outlook {
  WallTime start{};
  std::vector<std::size_t> gpus;
  bool cpus = false;
};

Outlook soonest(const NodeOutlook& node, const JobNeeds& needs, std::uint64_t mask) {
  Outlook outlook{.start = WallTime::min(), .gpus = {}, .cpus = needs.cpus || needs.alone()};
  if (outlook.cpus) outlook.start = node.cpus_at;
  for (std::size_t i = 0; i < node.free_at.size() && !needs.cpus; ++i) {
    if (needs.alone() || (mask >> i & 1) != 0) outlook.gpus.push_back(i);
  }
  std::stable_sort(outlook.gpus.begin(), outlook.gpus.end(),
                   [&](std::size_t a, std::size_t b) { return node.free_at[a] < node.free_at[b]; });
  const auto needed = static_cast<std::size_t>(needs.gpus);
  if (!needs.alone() && outlook.gpus.size() > needed) outlook.gpus.resize(needed);
  if (!outlook.gpus.empty()) outlook.start = std::max(outlook.start, node.free_at[outlook.gpus.back()]);
  return outlook;
}

/// The queue worked off in thought: each job on the nodes where it could start first.
class QueueOutlook {
 public:
  QueueOutlook(const Places& places, WallTime now, bool late) : places_(places), late_(late) {
    for (NodeNumber number = 0; number < places.nodes(); ++number) {
      const Places::Node& node = places.node(number);
      if (!node.takes_jobs()) continue;
      NodeOutlook outlook{.number = number, .free_at = {}, .cpus_at = now};
      outlook.free_at.assign(node.offer.gpus.size(), now);
      for (const Places::Tenant& tenant : node.tenants) {
        WallTime end = std::max(now, tenant.expected_end);
        if (late_) end += (end - now) / 2;
        if (tenant.alone || tenant.cpus) outlook.cpus_at = std::max(outlook.cpus_at, end);
        for (std::size_t i = 0; i < outlook.free_at.size(); ++i) {
          if (tenant.alone || (tenant.gpus >> i & 1) != 0) outlook.free_at[i] = end;
        }
      }
      nodes_.push_back(std::move(outlook));
    }
  }

  struct Found {
    WallTime start{};
    std::vector<std::string> nodes;
  };
  /// None where the job fits nowhere.
  std::optional<Found> place(const JobRequest& job, const std::vector<KindFit>& fits) {
    struct Choice {
      Outlook outlook;
      std::ptrdiff_t rank = 0;  ///< of its kind of node: 0 suits the job best
      NodeOutlook* node = nullptr;
    };
    std::vector<Choice> choice;
    for (NodeOutlook& node : nodes_) {
      const Places::Node& place = places_.node(node.number);
      const auto fit =
          std::find_if(fits.begin(), fits.end(), [&](const KindFit& one) { return one.kind == place.kind; });
      const auto& on = job.needs.on;
      if (fit == fits.end()) continue;
      if (!on.empty() && std::find(on.begin(), on.end(), place.offer.name) == on.end()) continue;
      const std::uint64_t gpus = job.needs.these.empty() ? fit->gpus : places_.mask_on(node.number, job.needs.these);
      Outlook outlook = soonest(node, job.needs, gpus);
      if (!places_.ends_in_time(node.number, outlook.start, job.at_most())) {
        outlook.start = place.offer.maintenance->second;
      }
      choice.push_back({.outlook = std::move(outlook), .rank = fit - fits.begin(), .node = &node});
    }
    const auto count = static_cast<std::size_t>(job.needs.nodes);
    if (choice.size() < count) return std::nullopt;
    std::stable_sort(choice.begin(), choice.end(), [](const Choice& a, const Choice& b) {
      return std::pair(a.outlook.start, a.rank) < std::pair(b.outlook.start, b.rank);
    });
    Found found{.start = choice[count - 1].outlook.start, .nodes = {}};
    const WallTime end = found.start + (late_ ? job.estimate.at_most() : job.estimate.expected);
    for (std::size_t i = 0; i < count; ++i) {
      NodeOutlook& node = *choice[i].node;
      for (const std::size_t gpu : choice[i].outlook.gpus) node.free_at[gpu] = end;
      if (choice[i].outlook.cpus) node.cpus_at = end;
      found.nodes.push_back(places_.node(node.number).offer.name);
    }
    return found;
  }

 private:
  const Places& places_;
  bool late_;
  std::vector<NodeOutlook> nodes_;
};

/// So that its start can be foretold.
bool waits_for_room(const WaitReport& report) {
  return report.reason == WaitReason::set_aside || report.reason == WaitReason::gpus_busy ||
         report.reason == WaitReason::maintenance;
}

}  // namespace

std::string_view name_of(WaitReason reason) {
  switch (reason) {
    case WaitReason::held: return "held";
    case WaitReason::dependency: return "dependency";
    case WaitReason::never: return "never";
    case WaitReason::retry_delay: return "retry_delay";
    case WaitReason::quota: return "quota";
    case WaitReason::no_such_node: return "no_such_node";
    case WaitReason::set_aside: return "set_aside";
    case WaitReason::maintenance: return "maintenance";
    case WaitReason::gpus_busy: return "gpus_busy";
  }
  return "";
}

/// Those that could run, first those for which nodes are set aside.
std::vector<Scheduler::Candidate> Scheduler::in_order(std::size_t most) const {
  std::vector<Candidate> queue;
  lines_.for_each([&](const WaitingLines::Line& line) {
    for (const auto& [user, lane] : line.lanes) {
      std::size_t taken = 0;
      for (WaitingLines::Entry entry : lane.jobs) {
        if (++taken > most) break;
        entry.key += lines_.delay_of(user);
        queue.push_back({.entry = entry, .job = &jobs_[entry.job].request, .fits = &line.fits});
      }
    }
  });
  std::sort(queue.begin(), queue.end(), [](const Candidate& a, const Candidate& b) { return a.entry < b.entry; });
  for (auto aside = aside_.rbegin(); aside != aside_.rend(); ++aside) {
    const Job& job = jobs_[aside->job];
    WaitingLines::Entry first = job.entry;
    first.key = std::numeric_limits<double>::lowest();
    queue.insert(queue.begin(), {.entry = first, .job = &job.request, .fits = &aside->fits});
  }
  if (queue.size() > most) queue.resize(most);
  return queue;
}

std::vector<JobForecast> Scheduler::outlook(const std::vector<Candidate>& queue, WallTime now) const {
  QueueOutlook expected(places_, now, false);
  QueueOutlook late(places_, now, true);
  std::vector<JobForecast> forecasts;
  for (const Candidate& candidate : queue) {
    auto start = expected.place(*candidate.job, *candidate.fits);
    const auto late_start = late.place(*candidate.job, *candidate.fits);
    if (!start) continue;
    forecasts.push_back({.job = candidate.job->id,
                         .nodes = std::move(start->nodes),
                         .expected_start = start->start,
                         .late_start = std::max(start->start, late_start->start)});
  }
  return forecasts;
}

std::vector<JobForecast> Scheduler::forecast(WallTime now, std::size_t most) const {
  return outlook(in_order(most), now);
}

Result<JobPreview> Scheduler::preview(const JobRequest& job, WallTime now) const {
  ASSAY_CHECK(check_needs(job));
  JobPreview preview;
  const std::vector<KindFit> fits = places_.fits_of(job.needs);
  if (!places_.could_ever_fit(job.needs, fits, &preview.never)) return preview;
  std::vector<Candidate> queue = in_order(kPreviewedJobs);
  Candidate added{.entry = {.key = options_.order.key(job, spread_), .sequence = next_sequence_}, .job = &job};
  added.fits = &fits;
  if (const auto user = fair_share_.find(job.user)) added.entry.key += lines_.delay_of(*user);
  const auto place = std::upper_bound(queue.begin(), queue.end(), added,
                                      [](const Candidate& a, const Candidate& b) { return a.entry < b.entry; });
  queue.erase(place, queue.end());  // what comes behind it does not matter
  queue.push_back(added);
  for (JobForecast& forecast_of : outlook(queue, now)) preview.forecast = std::move(forecast_of);
  return preview;
}

/// Those that want a node of the same kind.
std::size_t Scheduler::jobs_ahead(const Job& job) const {
  const WaitingLines::Line* own = lines_.find(job.request.needs);
  if (own == nullptr || job.phase != Phase::queued) return 0;
  const auto shares_nodes = [&](const WaitingLines::Line& line) {
    for (const KindFit& fit : line.fits) {
      if (std::any_of(own->fits.begin(), own->fits.end(), [&](const KindFit& one) { return one.kind == fit.kind; })) {
        return true;
      }
    }
    return false;
  };
  WaitingLines::Entry entry = job.entry;
  entry.key += lines_.delay_of(job.user);
  std::size_t ahead = 0;
  lines_.for_each([&](const WaitingLines::Line& line) {
    if (!shares_nodes(line)) return;
    for (const auto& [user, lane] : line.lanes) {
      for (WaitingLines::Entry other : lane.jobs) {
        other.key += lines_.delay_of(user);
        if (!(other < entry)) break;
        ++ahead;
      }
    }
  });
  return ahead;
}

std::string Scheduler::quota_sentence(const Job& job) const {
  const UserRule& rule = fair_share_.rule_of(job.user);
  const UserState& user = users_[job.user];
  const int needed = gpus_of(job.request.needs);
  if (rule.most_gpus && needed > *rule.most_gpus) {
    return fmt::format("needs {} GPUs, and '{}' may have {}: it will never start. Ask for fewer, or for a larger quota",
                       needed, job.request.user, *rule.most_gpus);
  }
  if (rule.most_gpus && user.gpus + needed > *rule.most_gpus) {
    return fmt::format("'{}' has {} of {} GPUs in use, and it needs {}", job.request.user, user.gpus, *rule.most_gpus,
                       needed);
  }
  return fmt::format("'{}' has {} of {} jobs running", job.request.user, user.jobs, rule.most_jobs.value_or(0));
}

/// Why a job waits, but for when it will start.
WaitReport Scheduler::report_of(JobNumber number, WallTime now, std::size_t ahead) const {
  const Job& job = jobs_[number];
  const std::vector<KindFit> fits = places_.fits_of(job.request.needs);
  WaitReport report;
  std::string missing;
  const auto say = [&](WaitReason reason, std::string sentence) {
    report.reason = reason;
    report.sentence = std::move(sentence);
  };
  if (job.request.held) {
    say(WaitReason::held, "is held until somebody releases it");
  } else if (!job.broken.empty()) {
    say(WaitReason::never, fmt::format("will never start, since '{}' did not succeed", job.broken));
  } else if (!job.after.empty()) {
    say(WaitReason::dependency, fmt::format("waits for the success of {}", join(job.after, ", ")));
  } else if (job.request.not_before > now) {
    say(WaitReason::retry_delay,
        fmt::format("waits {} for attempt {} of {}", format_duration(job.request.not_before - now), job.request.attempt,
                    job.request.retry.attempts));
    report.expected_start = job.request.not_before;
  } else if (!places_.could_ever_fit(job.request.needs, fits, &missing)) {
    say(WaitReason::no_such_node, "fits nowhere: " + missing);
  } else if (over_quota(job)) {
    say(WaitReason::quota, quota_sentence(job));
  } else if (job.phase == Phase::set_aside) {
    const auto place =
        std::find_if(aside_.begin(), aside_.end(), [&](const SetAside& one) { return one.job == number; });
    std::vector<std::string> names;
    for (const NodeNumber node : place->nodes) names.push_back(places_.node(node).offer.name);
    say(WaitReason::set_aside,
        fmt::format("is next: {} {} being emptied for it", join(names, ", "), names.size() == 1 ? "is" : "are"));
  } else if (const auto node = places_.kept_by_maintenance(job.request.needs, fits, wish_of(job, now))) {
    const NodeOffer& offer = places_.node(*node).offer;
    report.ahead = ahead;
    say(WaitReason::maintenance,
        fmt::format("might not end before the maintenance of {}, from {} to {}; a shorter time_limit may help",
                    offer.name, iso8601(offer.maintenance->first), iso8601(offer.maintenance->second)));
  } else {
    report.ahead = ahead;
    const std::string before =
        ahead == 0 ? "first in line" : fmt::format("with {} {} before it", ahead, ahead == 1 ? "job" : "jobs");
    say(WaitReason::gpus_busy, fmt::format("waits for free {}, {}", job.request.needs.cpus ? "CPUs" : "GPUs", before));
  }
  return report;
}

Result<WaitReport> Scheduler::explain(const std::string& id, WallTime now) const {
  const auto number = number_of(id);
  if (!number || jobs_[*number].phase == Phase::running) {
    return Error{.kind = ErrorKind::not_found, .message = fmt::format("there is no job '{}' that waits", id)};
  }
  WaitReport report = report_of(*number, now, jobs_ahead(jobs_[*number]));
  if (waits_for_room(report)) {
    for (const JobForecast& forecast_of : forecast(now)) {
      if (forecast_of.job == id) report.expect(forecast_of);
    }
  }
  return report;
}

/// How many come before each that could run, for the same kinds of nodes.
std::unordered_map<std::string, std::size_t> Scheduler::all_ahead(const std::vector<Candidate>& queue) const {
  // Jobs are many, different sets of kinds few.
  std::map<std::vector<std::uint32_t>, std::size_t> before;
  std::unordered_map<std::string, std::size_t> ahead;
  for (const Candidate& candidate : queue) {
    std::vector<std::uint32_t> kinds;
    for (const KindFit& fit : *candidate.fits) kinds.push_back(fit.kind);
    std::sort(kinds.begin(), kinds.end());
    std::size_t count = 0;
    for (const auto& [others, jobs] : before) {
      const bool shared = std::find_first_of(kinds.begin(), kinds.end(), others.begin(), others.end()) != kinds.end();
      if (shared) count += jobs;
    }
    ahead[candidate.job->id] = count;
    ++before[std::move(kinds)];
  }
  return ahead;
}

std::map<std::string, WaitReport> Scheduler::explain_all(WallTime now, std::size_t most) const {
  auto queue = in_order(std::numeric_limits<std::size_t>::max());
  const auto ahead = all_ahead(queue);
  if (queue.size() > most) queue.resize(most);
  std::map<std::string, WaitReport> reports;
  for (const auto& [id, number] : numbers_) {
    if (jobs_[number].phase == Phase::running) continue;
    const auto before = ahead.find(id);
    reports[id] = report_of(number, now, before == ahead.end() ? 0 : before->second);
  }
  for (const JobForecast& forecast_of : outlook(queue, now)) {
    WaitReport& report = reports[forecast_of.job];
    if (waits_for_room(report)) report.expect(forecast_of);
  }
  return reports;
}

}  // namespace assay
