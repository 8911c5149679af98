#include <fmt/format.h>

#include <algorithm>

#include "base/log.h"
#include "leader/node.h"
#include "leader/node_registry.h"
#include "leader/run_desk.h"
#include "leader/run_desk_words.h"
#include "protocol/paths.h"
#include "store/run_store.h"

namespace assay {
namespace {

/// A leader that was stopped for so long in between has heard of nobody, whoever spoke.
constexpr Nanos kLongestLook = std::chrono::seconds(5);

bool is_own_address(std::string_view address) {
  return address == "localhost" || address == "::1" || address.starts_with("127.");
}

}  // namespace

std::optional<int> RunDesk::Entry::part_of(std::string_view node) const {
  const auto found =
      std::find_if(place.begin(), place.end(), [&](const NodeShare& share) { return share.node == node; });
  if (found == place.end()) return std::nullopt;
  return static_cast<int>(found - place.begin());
}

Result<void> RunDesk::check_gang(const PlannedRun& planned, const RunRequest& request) const {
  const auto named = pinned_nodes(planned);
  if (!request.node.empty() || request.gpus) {
    return Error{
        .kind = ErrorKind::usage,
        .message = fmt::format("one node or its GPUs are asked for, and this run is for {} nodes", planned.nodes),
        .hint = "Name the nodes in the specification: 'nodes: [gpu01, gpu02]'. Or name none."};
  }
  for (const auto& name : named) ASSAY_CHECK(check_node(name, request));
  int able = 0;
  for (const auto& node : nodes_.all()) {
    const auto record = node->record();
    const bool joins = offer_of(record, NodeState::online) && record.facts.contains(kAddressFact);
    const bool is_named = std::find(named.begin(), named.end(), record.name) != named.end();
    if (is_named && !joins) {
      return Error{
          .kind = ErrorKind::unsupported,
          .message = fmt::format("the agent of '{}' does no part of a run over several nodes", record.name),
          .hint =
              "It is of an older version, which can be updated, or its runs are done elsewhere. One run on each "
              "node: `each_node: true`."};
    }
    able += joins ? 1 : 0;
  }
  if (able >= planned.nodes) return {};
  return Error{
      .kind = ErrorKind::unsupported,
      .message =
          fmt::format("this run is for {} nodes, and the agents of {} take parts of such runs", planned.nodes, able),
      .hint =
          "They do with --allow run, from this version on. One run on each: `each_node: true`. `assay run --on ssh:…` "
          "and `--on slurm:…` need no agents."};
}

/// From now on its nodes are expected to say how they do.
void RunDesk::gather(Entry& entry) {
  if (!entry.is_gang() || !entry.gang.parts.empty()) return;
  entry.gang.parts.assign(entry.place.size(), {.heard = clock_.now()});
}

/// The run of which the node has a part, while it goes on.
RunDesk::Entry* RunDesk::gang_of(std::string_view node, std::string_view run) {
  const auto found = entry_of(run);
  if (found == entries_.end()) return nullptr;
  auto& entry = found->second;
  const bool goes_on = entry.state == RunState::starting || entry.state == RunState::running;
  if (!goes_on || !entry.is_gang() || entry.job.row.current != run || !entry.part_of(node)) return nullptr;
  gather(entry);
  return &entry;
}

Result<TakenJob> RunDesk::take_part(Entry& entry, int part, TakenJob taken) {
  const auto& run = entry.job.row.current;
  if (entry.state == RunState::queued) return no_such_job(run);
  if (!entry.gang.meeting) {
    return Error{
        .kind = ErrorKind::busy,
        .message = fmt::format("'{}', the first node of the run, has not said where it is", entry.place.front().node)};
  }
  ASSAY_TRY(taken.run, runs_.find_run(run));
  ASSAY_TRY(const auto lease, runs_.find_lease(run));
  if (!lease || taken.run.state == RunState::ended) return no_such_job(run);
  const auto& share = entry.place[static_cast<std::size_t>(part)];
  taken.lease = *lease;
  taken.run.placement.node = share.node;
  taken.run.placement.gpus = share.gpus;
  taken.run.placement.part = part;
  taken.part = {
      .number = part, .of = static_cast<int>(entry.place.size()), .epoch = lease->epoch, .meeting = entry.gang.meeting};
  auto& said = entry.gang.parts[static_cast<std::size_t>(part)];
  said.joined = true;
  said.heard = clock_.now();
  return taken;
}

/// On loopback nobody else can reach the first node, unless all of them are this machine.
std::optional<Error> RunDesk::unreachable_meeting(const Entry& entry) const {
  if (!entry.gang.meeting || !is_own_address(entry.gang.meeting->address)) return std::nullopt;
  for (const auto& share : entry.place) {
    const auto node = nodes_.find(share.node);
    const auto facts = node ? node->record().facts : std::map<std::string, std::string>();
    const auto address = facts.find(kAddressFact);
    if (address == facts.end() || is_own_address(address->second)) continue;
    return Error{.kind = ErrorKind::unreachable,
                 .message = fmt::format("'{}' says that it is at {}, where '{}' cannot reach it",
                                        entry.place.front().node, entry.gang.meeting->address, share.node),
                 .hint = fmt::format("Give the agent of '{}' the address that the others know: --address.",
                                     entry.place.front().node)};
  }
  return std::nullopt;
}

Result<PartAnswer> RunDesk::report_part(std::string_view node, std::string_view run, const PartReport& report) {
  const std::lock_guard lock(mutex_);
  auto* entry = gang_of(node, run);
  if (!entry) return no_such_job(run);
  auto& gang = entry->gang;
  const auto part = static_cast<std::size_t>(*entry->part_of(node));
  auto& said = gang.parts[part];
  said.heard = clock_.now();
  said.joined = true;
  const bool is_news = report.ended && !said.ended;
  said.bringing = report.bringing;
  said.ended = report.ended;
  said.error = report.ended || report.bringing ? report.error : std::nullopt;
  if (part == 0 && report.meeting) {
    gang.meeting = report.meeting;
    if (!gang.lost) gang.lost = unreachable_meeting(*entry);
  }
  if (part > 0 && said.error && !gang.lost) {
    gang.lost = said.error;
    gang.lost->message = fmt::format("on {}: {}", node, said.error->message);
    // Nobody wanted the run to end.
    if (gang.lost->kind == ErrorKind::interrupted) gang.lost->kind = ErrorKind::lost_peer;
  }
  // The others are to hear at once that the first has failed.
  if (is_news) tell_all();
  PartAnswer answer{.lost = gang.lost};
  for (std::size_t i = 1; i < gang.parts.size(); ++i) {
    const auto& other = gang.parts[i];
    if (other.ended) continue;
    ++answer.open;
    // Nobody waits for the files of one that is silent.
    answer.bringing += other.bringing && clock_.now() < other.heard + options_.part_patience ? 1 : 0;
  }
  return answer;
}

Result<std::uint64_t> RunDesk::take_part_frames(std::string_view node, std::string_view run, std::uint64_t epoch,
                                                std::uint64_t offset, std::string_view frames) {
  Lease lease{.run = std::string(run), .journal = {}, .owner = {}, .epoch = epoch, .expires = {}};
  {
    const std::lock_guard lock(mutex_);
    auto* entry = gang_of(node, run);
    const auto part = entry ? entry->part_of(node) : std::nullopt;
    if (!part || *part == 0) return no_such_job(run);
    ASSAY_TRY(const auto planned, planned_run_from_json(json::value(entry->job.row.planned)));
    lease.journal = fmt::format("rank-{}", *part * processes_per_node(planned));
    lease.owner = entry->place.front().node;
    auto& said = entry->gang.parts[static_cast<std::size_t>(*part)];
    said.heard = clock_.now();
    said.joined = true;
  }
  // Without the lock, which heartbeats of others need: the store knows by the epoch whether the run is still that
  // one's.
  return runs_.append_frames(lease, offset, frames);
}

/// Gives a run up one of whose further nodes is gone, or does not come. Its owner hears of it when it next says
/// something, and ends it. Of an owner that is gone `close_lost` takes care.
void RunDesk::look_after(Entry& entry) {
  if (!entry.is_gang() || entry.gang.lost) return;
  gather(entry);
  const auto now = clock_.now();
  const bool was_away = last_look_ != SteadyTime{} && now > last_look_ + kLongestLook;
  for (std::size_t i = 1; i < entry.gang.parts.size(); ++i) {
    auto& part = entry.gang.parts[i];
    if (part.ended) continue;
    if (was_away) part.heard = now;
    const auto& node = entry.place[i].node;
    const Nanos patience = part.joined ? options_.part_patience : options_.part_delay;
    if (now < part.heard + patience) continue;
    entry.gang.lost = Error{
        .kind = ErrorKind::lost_peer,
        .message =
            part.joined
                ? fmt::format("the node {} has not been heard of for {:.0f} s", node, seconds_of(now - part.heard))
                : fmt::format("the node {} did not begin its part within {:.0f} s", node, seconds_of(patience)),
        .hint = "`assay nodes` says how it is; `journalctl -u assay-agent` there says what its agent has seen."};
    log_warning("Run {} is given up: {}", entry.job.row.current, entry.gang.lost->message);
  }
}

}  // namespace assay
