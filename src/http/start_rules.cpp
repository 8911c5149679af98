#include "http/start_rules.h"

#include <fmt/format.h>

#include <algorithm>

#include "accounts/accounts.h"
#include "base/text.h"
#include "http/ownership.h"
#include "leader/leader.h"
#include "model/run.h"
#include "spec/spec.h"
#include "store/cluster_store.h"
#include "store/job_table.h"
#include "store/run_store.h"

namespace assay {
namespace {

using Owned = OwnerTable::Owned;

constexpr Nanos kDay = std::chrono::hours(24);
/// Who began a run earlier than this and still runs it has used their day up anyway.
constexpr Nanos kLookBack = std::chrono::hours(24 * 8);

std::string text_in(const json::object& spec, std::string_view key) {
  const auto* value = find_setting(spec, key);
  return value && value->is_string() ? std::string(value->get_string()) : std::string();
}

bool is_given(const json::object& spec, std::string_view key) {
  const auto* value = find_setting(spec, key);
  if (!value || value->is_null()) return false;
  if (value->is_object()) return !value->get_object().empty();
  return !value->is_string() || !value->get_string().empty();
}

/// Of one run within the last day.
double gpu_hours_of(const Run& run, WallTime now) {
  if (run.started == WallTime{}) return 0;
  const WallTime end = run.ended == WallTime{} ? now : run.ended;
  const Nanos within = end - std::max(run.started, now - kDay);
  const std::size_t gpus = run.placement.gpu_count().value_or(run.provenance.gpus.size());
  return within > Nanos(0) ? seconds_of(within) / 3600 * static_cast<double>(gpus) : 0;
}

/// What an administrator has deleted is not counted any more.
double gpu_hours_of(RunStore& runs, std::string_view id, WallTime now) {
  const auto run = runs.find_run(id);
  return run ? gpu_hours_of(*run, now) : 0;
}

Result<double> gpu_hours_of(Leader& leader, const Principal& caller) {
  const WallTime now = leader.clock().wall();
  ASSAY_TRY(const auto owned, leader.accounts().owners().owned_since(caller.owner(), now - kLookBack));
  double hours = 0;
  for (const auto& one : owned) {
    if (one.kind == Owned::Kind::run) hours += gpu_hours_of(leader.runs(), one.id, now);
    if (one.kind != Owned::Kind::study) continue;
    const auto study = leader.runs().find_study(one.id);
    if (!study) continue;
    for (const auto& planned : study->plan) {
      const bool counted =
          planned.run.empty() ||
          std::find(owned.begin(), owned.end(), Owned{.kind = Owned::Kind::run, .id = planned.run}) != owned.end();
      if (!counted) hours += gpu_hours_of(leader.runs(), planned.run, now);
    }
  }
  return hours;
}

/// A plan that was written by hand could say one thing to whoever looks at it and another to whoever does it.
Result<void> check_says_one_thing(const PlannedRun& planned) {
  for (const auto& setting : planned.spec) {
    if (setting.key().find('.') == json::string_view::npos) continue;
    return Error{.kind = ErrorKind::denied,
                 .message = fmt::format("the plan has the setting '{}' beside what it is part of",
                                        printable(std::string_view(setting.key()))),
                 .hint = "Ask for the specification anew: its settings are written in one way then."};
  }
  return {};
}

Result<void> check_not_counted(Leader& leader, const Principal& caller, double gpu_hours, std::string_view what) {
  if (gpu_hours <= 0 || caller.scopes.has(Scope::manage) || !quota_for(leader, caller).gpu_hours_per_day) return {};
  return Error{.kind = ErrorKind::denied,
               .message = fmt::format("your quota counts {:.2f} GPU hours of this {} within 24 hours", gpu_hours, what),
               .hint = "Delete it a day after it ended, or have an administrator do it."};
}

}  // namespace

Result<void> check_may_forget(Leader& leader, const Principal& caller, const Run& run) {
  return check_not_counted(leader, caller, gpu_hours_of(run, leader.clock().wall()), "run");
}

Result<void> check_may_forget(Leader& leader, const Principal& caller, const Study& study) {
  double hours = 0;
  for (const auto& planned : study.plan) {
    if (!planned.run.empty()) hours += gpu_hours_of(leader.runs(), planned.run, leader.clock().wall());
  }
  return check_not_counted(leader, caller, hours, "study");
}

WantedRun wanted_run(const PlannedRun& planned) {
  WantedRun run{.kind = text_in(planned.spec, "kind"),
                .model = text_in(planned.spec, "model.name"),
                .dataset = text_in(planned.spec, "dataset.name")};
  const auto* command = find_setting(planned.spec, "command");
  if (command && command->is_string()) {
    run.command = command->get_string();
    run.by_shell = true;
  } else if (command && command->is_array()) {
    std::vector<std::string> arguments;
    for (const auto& argument : command->get_array()) {
      arguments.push_back(argument.is_string() ? std::string(argument.get_string()) : json::serialize(argument));
    }
    run.command = join(arguments, " ");
  }
  run.own_surroundings = is_given(planned.spec, "env") || is_given(planned.spec, "folder");
  return run;
}

QuotaRecord quota_for(Leader& leader, const Principal& caller) {
  return leader.accounts().quota_of(caller.account.empty() ? "" : caller.account);
}

Result<Usage> usage_of(Leader& leader, const Principal& caller, bool with_hours) {
  Usage used;
  ASSAY_TRY(const auto jobs, leader.cluster().jobs().list());
  for (const auto& job : jobs) {
    if (job.row.by != caller.name) continue;
    const auto owner = owner_of_run(leader.accounts(), leader.runs(), job.row.run);
    // Nobody's as yet: it was asked for a moment ago.
    if (owner && (owner->empty() || *owner == caller.owner())) ++used.runs;
  }
  if (with_hours) {
    ASSAY_TRY(used.gpu_hours, gpu_hours_of(leader, caller));
  }
  return used;
}

Result<void> check_may_start(Leader& leader, const Principal& caller, const std::vector<PlannedRun>& plan) {
  if (caller.scopes.has(Scope::manage)) return {};
  const auto catalog = leader.accounts().catalog().all();
  for (const auto& planned : plan) {
    ASSAY_CHECK(check_says_one_thing(planned));
    ASSAY_CHECK(check_offer(catalog, wanted_run(planned)));
  }
  const QuotaRecord quota = quota_for(leader, caller);
  ASSAY_TRY(const auto used, usage_of(leader, caller, quota.gpu_hours_per_day.has_value()));
  return check_quota(quota, used, static_cast<std::int64_t>(plan.size()));
}

}  // namespace assay
