#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "base/text.h"
#include "scheduler/scheduler.h"

namespace assay {
namespace {

/// When each GPU of a node is free, as jobs are placed one after the other in thought.
struct NodeOutlook {
  NodeNumber number = 0;
  std::vector<WallTime> free_at;  ///< by GPU; a node without any has one place
};

/// The GPUs of `mask` that are free first, as many as needed, and when all of them are.
struct Outlook {
  WallTime start{};
  std::vector<std::size_t> gpus;
};

Outlook soonest(const NodeOutlook& node, const JobNeeds& needs, std::uint64_t mask) {
  Outlook outlook;
  for (std::size_t i = 0; i < node.free_at.size(); ++i) {
    if (needs.alone() || (mask >> i & 1) != 0) outlook.gpus.push_back(i);
  }
  std::stable_sort(outlook.gpus.begin(), outlook.gpus.end(),
                   [&](std::size_t a, std::size_t b) { return node.free_at[a] < node.free_at[b]; });
  if (!needs.alone()) outlook.gpus.resize(static_cast<std::size_t>(needs.gpus));
  if (!outlook.gpus.empty()) outlook.start = node.free_at[outlook.gpus.back()];
  return outlook;
}

/// The queue worked off in thought: each job on the nodes where it could start first.
class QueueOutlook {
 public:
  QueueOutlook(const Places& places, WallTime now, bool late) : places_(places), late_(late) {
    for (NodeNumber number = 0; number < places.nodes(); ++number) {
      const Places::Node& node = places.node(number);
      if (!node.up) continue;
      NodeOutlook outlook{.number = number, .free_at = {}};
      outlook.free_at.assign(std::max<std::size_t>(1, node.offer.gpus.size()), now);
      for (const Places::Tenant& tenant : node.tenants) {
        WallTime end = std::max(now, tenant.expected_end);
        if (late_) end += (end - now) / 2;
        for (std::size_t i = 0; i < outlook.free_at.size(); ++i) {
          if (tenant.alone || (tenant.gpus >> i & 1) != 0) outlook.free_at[i] = end;
        }
      }
      nodes_.push_back(std::move(outlook));
    }
  }

  /// None where the job fits nowhere.
  std::optional<WallTime> place(const JobRequest& job, const std::vector<KindFit>& fits) {
    std::vector<std::pair<Outlook, NodeOutlook*>> choice;
    for (NodeOutlook& node : nodes_) {
      const Places::Node& place = places_.node(node.number);
      const auto fit =
          std::find_if(fits.begin(), fits.end(), [&](const KindFit& one) { return one.kind == place.kind; });
      const auto& on = job.needs.on;
      if (fit == fits.end()) continue;
      if (!on.empty() && std::find(on.begin(), on.end(), place.offer.name) == on.end()) continue;
      choice.emplace_back(soonest(node, job.needs, fit->gpus), &node);
    }
    const auto count = static_cast<std::size_t>(job.needs.nodes);
    if (choice.size() < count) return std::nullopt;
    std::stable_sort(choice.begin(), choice.end(),
                     [](const auto& a, const auto& b) { return a.first.start < b.first.start; });
    const WallTime start = choice[count - 1].first.start;
    const WallTime end = start + (late_ ? job.estimate.at_most() : job.estimate.expected);
    for (std::size_t i = 0; i < count; ++i) {
      for (const std::size_t gpu : choice[i].first.gpus) choice[i].second->free_at[gpu] = end;
    }
    return start;
  }

 private:
  const Places& places_;
  bool late_;
  std::vector<NodeOutlook> nodes_;
};

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
    case WaitReason::gpus_busy: return "gpus_busy";
  }
  return "";
}

std::vector<JobForecast> Scheduler::forecast(WallTime now, std::size_t most) const {
  struct Candidate {
    WaitingLines::Entry entry;
    const std::vector<KindFit>* fits = nullptr;
  };
  std::vector<Candidate> queue;
  lines_.for_each([&](const WaitingLines::Line& line) {
    for (const auto& [user, lane] : line.lanes) {
      std::size_t taken = 0;
      for (WaitingLines::Entry entry : lane.jobs) {
        if (++taken > most) break;
        entry.key += lines_.delay_of(user);
        queue.push_back({.entry = entry, .fits = &line.fits});
      }
    }
  });
  std::sort(queue.begin(), queue.end(), [](const Candidate& a, const Candidate& b) { return a.entry < b.entry; });
  for (auto aside = aside_.rbegin(); aside != aside_.rend(); ++aside) {
    queue.insert(queue.begin(), {.entry = jobs_[aside->job].entry, .fits = &aside->fits});
  }
  if (queue.size() > most) queue.resize(most);
  QueueOutlook expected(places_, now, false);
  QueueOutlook late(places_, now, true);
  std::vector<JobForecast> forecasts;
  for (const Candidate& candidate : queue) {
    const JobRequest& job = jobs_[candidate.entry.job].request;
    const auto start = expected.place(job, *candidate.fits);
    const auto late_start = late.place(job, *candidate.fits);
    if (start)
      forecasts.push_back({.job = job.id, .expected_start = *start, .late_start = std::max(*start, *late_start)});
  }
  return forecasts;
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

Result<WaitReport> Scheduler::explain(const std::string& id, WallTime now) const {
  const auto number = number_of(id);
  if (!number || jobs_[*number].phase == Phase::running) {
    return Error{.kind = ErrorKind::not_found, .message = fmt::format("there is no job '{}' that waits", id)};
  }
  const Job& job = jobs_[*number];
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
  } else if (!places_.could_ever_fit(job.request.needs, places_.fits_of(job.request.needs), &missing)) {
    say(WaitReason::no_such_node, "fits nowhere: " + missing);
  } else if (over_quota(job)) {
    say(WaitReason::quota, quota_sentence(job));
  } else if (job.phase == Phase::set_aside) {
    const auto place =
        std::find_if(aside_.begin(), aside_.end(), [&](const SetAside& one) { return one.job == *number; });
    std::vector<std::string> names;
    for (const NodeNumber node : place->nodes) names.push_back(places_.node(node).offer.name);
    say(WaitReason::set_aside,
        fmt::format("is next: {} {} being emptied for it", join(names, ", "), names.size() == 1 ? "is" : "are"));
  } else {
    report.ahead = jobs_ahead(job);
    say(WaitReason::gpus_busy,
        fmt::format("waits for free GPUs, with {} {} before it", report.ahead, report.ahead == 1 ? "job" : "jobs"));
  }
  if (report.reason == WaitReason::set_aside || report.reason == WaitReason::gpus_busy) {
    for (const JobForecast& forecast_of : forecast(now)) {
      if (forecast_of.job != id) continue;
      report.expected_start = forecast_of.expected_start;
      report.late_start = forecast_of.late_start;
    }
  }
  return report;
}

}  // namespace assay
