#include "http/run_orders.h"

#include <fmt/format.h>

#include "base/hash.h"
#include "base/units.h"
#include "model/study.h"
#include "redact/redact.h"
#include "spec/spec.h"

namespace assay {
namespace {

/// Every mistake of a specification in one error, as `assay run` tells them.
Result<Spec> spec_in(const std::string& text, const std::string& file, const std::vector<std::string>& assignments) {
  auto reading = read_spec(text, file, {.assignments = assignments, .environment = {}});
  if (reading.spec) return std::move(*reading.spec);
  std::string list;
  for (const auto& mistake : reading.diagnostics) list += (list.empty() ? "" : "\n") + mistake.text();
  return Error{.kind = ErrorKind::bad_spec, .message = std::move(list), .hint = "`assay schema` helps editors."};
}

/// Settings that a specification gets from the cluster: which nodes `all` are.
Result<std::vector<std::string>> settings_of_cluster(const Spec& spec, bool each_node, const RunDesk& desk) {
  std::vector<std::string> settings;
  if (each_node) settings.emplace_back("each_node=true");
  const auto* each = spec.settings.if_contains("each_node");
  const bool visits = each_node || (each && each->is_bool() && each->get_bool());
  const auto* nodes = spec.settings.if_contains("nodes");
  const bool names_all = nodes && nodes->is_string() && nodes->get_string() == "all";
  const bool names_none = !nodes || nodes->is_null();
  // A check of nodes without `each_node` is one run that finds its nodes itself.
  const bool wants_all = visits ? names_all || names_none : names_all && spec.kind != SpecKind::node;
  if (!wants_all) return settings;
  const auto names = desk.nodes_for_runs();
  if (names.empty()) {
    return Error{.kind = ErrorKind::unsupported,
                 .message = "no node of this cluster takes runs",
                 .hint = "An agent does that is started with --allow run."};
  }
  settings.push_back("nodes=" + json::serialize(json::value_from(names)));
  return settings;
}

/// A node that is asked for and is not that of the specification would be passed over in silence.
Result<void> check_node(const RunOrder& order, const std::vector<PlannedRun>& plan) {
  if (order.node.empty()) return {};
  if (order.each_node) {
    return Error{.kind = ErrorKind::usage,
                 .message = fmt::format("a run on each node was asked for, and one on '{}' alone", order.node),
                 .hint = "Leave one of the two away."};
  }
  for (const auto& planned : plan) {
    if (planned.nodes > 1 || planned.node.empty() || planned.node == order.node) continue;
    return Error{.kind = ErrorKind::usage,
                 .message = fmt::format("the node '{}' was asked for, and the specification says '{}'", order.node,
                                        planned.node),
                 .hint = fmt::format("`--set nodes=[{}]` changes what it says.", order.node)};
  }
  return {};
}

Result<std::optional<WallTime>> deadline_of(const RunOrder& order, const Principal& caller, WallTime now) {
  if (order.within.empty()) return std::optional<WallTime>();
  const auto time = parse_duration(order.within);
  if (!time || *time <= Nanos(0) || *time > std::chrono::hours(24 * 365)) {
    return Error{.kind = ErrorKind::usage,
                 .message = fmt::format("'within' is '{}', which is no length of time up to a year", order.within),
                 .hint = "For example 6h."};
  }
  if (caller.scopes.has(Scope::manage)) return std::optional(now + *time);
  return Error{.kind = ErrorKind::denied,
               .message = "a time within which a run is to have ended is for administrators to give",
               .hint = "It would come before those of others."};
}

}  // namespace

Result<void> check_priority(const Principal& caller, int priority) {
  if (priority <= 0 || caller.scopes.has(Scope::manage)) return {};
  return Error{.kind = ErrorKind::denied,
               .message = fmt::format("a priority of {} is for administrators to give", priority),
               .hint = "Anybody may stand back: 0 or less."};
}

Result<RunRequest> request_in(RunOrder order, const Principal& caller, const RunDesk& desk) {
  ASSAY_CHECK(check_priority(caller, order.priority));
  ASSAY_TRY(const auto deadline, deadline_of(order, caller, desk.now()));
  ASSAY_TRY(auto spec, spec_in(order.spec, order.file, order.set));
  ASSAY_TRY(const auto added, settings_of_cluster(spec, order.each_node, desk));
  if (!added.empty()) {
    order.set.insert(order.set.end(), added.begin(), added.end());
    ASSAY_TRY(spec, spec_in(order.spec, order.file, order.set));
  }
  RunRequest request;
  ASSAY_TRY(request.plan, expand(spec));
  ASSAY_CHECK(check_node(order, request.plan));
  request.name = order.name.empty() ? default_name(spec) : order.name;
  request.tags = tags_of(spec);
  request.tags.insert(request.tags.end(), order.tags.begin(), order.tags.end());
  request.source = redact(spec.source);
  request.spec_hash = content_hash(json::serialize(spec.settings));
  request.node = std::move(order.node);
  request.gpus = std::move(order.gpus);
  request.by = caller.name;
  request.owner = caller.owner();
  request.priority = order.priority;
  request.deadline = deadline;
  request.held = order.hold;
  request.retries = order.retries;
  request.after = std::move(order.after);
  request.key = std::move(order.key);
  return request;
}

}  // namespace assay
