#include "watch/watch_rules.h"

#include "base/assert.h"

namespace assay {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using Direction = RuleInfo::Direction;

constexpr double kHour = 3600;

constexpr std::string_view kCooling =
    "Check fans, air filters and the flow of air or water to the node; compare with its neighbours in the rack.";

const std::array<RuleInfo, kRules> kTable = {{
    {RuleId::overheating,
     "overheating",
     "Temperature of a GPU.",
     kCooling,
     "above",
     "°C",
     Direction::above,
     {87, 82, seconds(60), minutes(2), AlertSeverity::critical}},
    {RuleId::memory_overheating,
     "memory_overheating",
     "Temperature of a GPU's memory.",
     kCooling,
     "above",
     "°C",
     Direction::above,
     {95, 90, seconds(60), minutes(2), AlertSeverity::critical}},
    {RuleId::thermal_throttling,
     "thermal_throttling",
     "Share of the time in which temperature slows a GPU, smoothed over a minute.",
     kCooling,
     "above",
     "ratio",
     Direction::above,
     {0.5, 0.1, seconds(60), minutes(5), AlertSeverity::warning}},
    {RuleId::hardware_throttling,
     "hardware_throttling",
     "Share of the time in which the hardware or the node's power brake slows a GPU (for another reason than "
     "temperature), smoothed over a minute.",
     "Check the node's power supplies and their cables, and the baseboard's log (ipmitool sel list).",
     "above",
     "ratio",
     Direction::above,
     {0.5, 0.1, seconds(60), minutes(5), AlertSeverity::critical}},
    {RuleId::power_capping,
     "power_capping",
     "Share of the time in which a GPU is at its power limit, smoothed over a minute. Usual under full load.",
     "Nothing, if the limit is meant to be there (nvidia-smi -q -d POWER).",
     "above",
     "ratio",
     Direction::above,
     {0.9, 0.5, minutes(10), minutes(10), AlertSeverity::info}},
    {RuleId::gpu_temperature_imbalance,
     "gpu_temperature_imbalance",
     "How much hotter a busy GPU is than the median of the busy others of its node (three at least), at no more than "
     "1.1 times their power.",
     "Check the cooler of this GPU: dust, contact, the flow of air or water at its place.",
     "above",
     "°C",
     Direction::above,
     {15, 10, minutes(10), minutes(10), AlertSeverity::warning}},
    {RuleId::gpu_clock_imbalance,
     "gpu_clock_imbalance",
     "How much lower the SM clock of a busy GPU is than the median of the busy others of its node (three at least).",
     "Look for clocks that were set (nvidia-smi -q -d CLOCK,PERFORMANCE), another power limit, throttling.",
     "above",
     "ratio",
     Direction::above,
     {0.10, 0.05, minutes(10), minutes(10), AlertSeverity::warning}},
    {RuleId::gpu_use_imbalance,
     "gpu_use_imbalance",
     "How far the utilisation of an allocated GPU is below the median of the other allocated ones of its node (three "
     "at least), while that median is at least 50 %; smoothed over five minutes.",
     "Check how the job spreads its work: a rank that waits, a slow data loader, a GPU that the job does not use.",
     "above",
     "ratio",
     Direction::above,
     {0.4, 0.2, minutes(15), minutes(10), AlertSeverity::warning}},
    {RuleId::under_use,
     "under_use",
     "Utilisation of an allocated GPU, smoothed over five minutes. One that is idle is a matter of "
     "`allocated_but_idle`.",
     "Look at the job's input pipeline and batch size, or give it fewer GPUs.",
     "below",
     "ratio",
     Direction::below,
     {0.15, 0.25, hours(1), minutes(15), AlertSeverity::info}},
    {RuleId::allocated_but_idle,
     "allocated_but_idle",
     "Utilisation of a GPU on which a process runs or more than 5 % of the memory is taken, smoothed over a minute.",
     "Ask the owner of the processes (nvidia-smi), or end what was left behind.",
     "below",
     "ratio",
     Direction::below,
     {0.01, 0.05, minutes(15), minutes(1), AlertSeverity::warning}},
    {RuleId::gpu_memory_leak,
     "gpu_memory_leak",
     "Time until a GPU's memory is full, if it has been rising steadily for an hour.",
     "Look for tensors that the job keeps (graphs, losses, caches) before it runs out of memory.",
     "within",
     "s",
     Direction::below,
     {24 * kHour, 48 * kHour, minutes(30), minutes(15), AlertSeverity::warning}},
    {RuleId::node_lost,
     "node_lost",
     "Whether a node is silent. While it is, nothing else is said about its values. Only an `info` if the node was "
     "drained.",
     "Check whether the machine answers (ping, its console), then the agent on it (systemctl status assay-agent).",
     "",
     "",
     Direction::yes_no,
     {0.5, 0.5, seconds(15), seconds(30), AlertSeverity::critical}},
    {RuleId::clock_skew,
     "clock_skew",
     "How far a node's clock is from the leader's, either way.",
     "Check time synchronisation on the node (chronyc tracking, timedatectl).",
     "above",
     "s",
     Direction::above,
     {1, 0.5, seconds(30), minutes(1), AlertSeverity::warning}},
    {RuleId::host_memory_leak,
     "host_memory_leak",
     "Time until a node's memory is full, if it has been rising steadily for an hour.",
     "Find the process that grows (ps aux --sort=-rss) and look for data loaders that keep their samples.",
     "within",
     "s",
     Direction::below,
     {24 * kHour, 48 * kHour, minutes(30), minutes(15), AlertSeverity::warning}},
    {RuleId::node_temperature_imbalance,
     "node_temperature_imbalance",
     "How much hotter the busy GPUs of a node are than the median of the nodes with the same model of GPU (five at "
     "least), beyond their usual spread and at no more than 1.1 times their power.",
     kCooling,
     "above",
     "°C",
     Direction::above,
     {10, 6, minutes(15), minutes(15), AlertSeverity::warning}},
    {RuleId::node_clock_imbalance,
     "node_clock_imbalance",
     "How much lower the SM clock of the busy GPUs of a node is than the median of the nodes with the same model of "
     "GPU (five at least), beyond their usual spread; not where the power limit explains it.",
     "Compare power limits, clock settings and driver versions with those of the other nodes.",
     "above",
     "ratio",
     Direction::above,
     {0.10, 0.05, minutes(15), minutes(15), AlertSeverity::warning}},
    {RuleId::disk_almost_full,
     "disk_almost_full",
     "Used share of a file system.",
     "Remove what is no longer needed: old checkpoints, logs, container images.",
     "above",
     "ratio",
     Direction::above,
     {0.9, 0.85, minutes(5), minutes(5), AlertSeverity::warning}},
    {RuleId::disk_filling,
     "disk_filling",
     "Time until a file system is full, if it has been filling steadily for six "
     "hours.",
     "Find what writes there, and move or remove it in time.",
     "within",
     "s",
     Direction::below,
     {24 * kHour, 48 * kHour, minutes(30), hours(1), AlertSeverity::warning}},
    {RuleId::gpu_lost,
     "gpu_lost",
     "Whether the driver has lost a GPU (XID 79, too); over when it is found again or has "
     "values for more than five minutes after. While it is lost, its other XIDs raise nothing.",
     "Drain the node, then reset the GPU (nvidia-smi -r) or start the node again; if it comes back, have the GPU "
     "checked.",
     "",
     "",
     Direction::yes_no,
     {0, 0, Nanos(0), hours(24 * 7), AlertSeverity::critical}},
    {RuleId::xid,
     "xid",
     "Faults that the driver reports (XID), except those that are mostly the program's own (13, 31, 43, 45).",
     "What the number asks for: see below.",
     "",
     "",
     Direction::yes_no,
     {0, 0, Nanos(0), hours(24), AlertSeverity::critical}},
    {RuleId::ecc_uncorrected,
     "ecc_uncorrected",
     "Memory errors that could not be corrected.",
     "Results since then are doubtful. Drain the node and reset the GPU (nvidia-smi -r); if it comes again, have the "
     "GPU replaced.",
     "",
     "",
     Direction::yes_no,
     {0, 0, Nanos(0), hours(24), AlertSeverity::critical}},
    {RuleId::row_remap,
     "row_remap",
     "Rows of memory that wait to be remapped, or could not be.",
     "A waiting row needs a reset of the GPU (nvidia-smi -r) once the node is drained; a GPU that could not remap one "
     "should be replaced.",
     "",
     "",
     Direction::yes_no,
     {0, 0, Nanos(0), hours(24), AlertSeverity::warning}},
    {RuleId::source_failing,
     "source_failing",
     "A source of telemetry that fails or hangs; over when it recovers.",
     "A driver that does not answer often needs the node to be started again; look at its kernel log (dmesg).",
     "",
     "",
     Direction::yes_no,
     {0, 0, Nanos(0), hours(24), AlertSeverity::warning}},
    {RuleId::leader_problem,
     "leader_problem",
     "Whether something is wrong with the leader itself: it cannot store (a full disk), found damage, refused what a "
     "node sent, its clock is wrong, nodes have to wait for it, an alert did not get out. Each is as grave as it is, "
     "at most of the rule's severity.",
     "Look at what it says: `assay nodes` and GET /api/v1/status name every problem of the leader. What was refused of "
     "a node stays until `assay nodes dismiss NODE`.",
     "",
     "",
     Direction::yes_no,
     {0.5, 0.5, Nanos(0), seconds(30), AlertSeverity::critical}},
}};

}  // namespace

std::span<const RuleInfo, kRules> known_rules() { return kTable; }

const RuleInfo& info_of(RuleId id) {
  const RuleInfo& info = kTable[static_cast<std::size_t>(id)];
  ASSAY_ASSERT(info.id == id);
  return info;
}

std::optional<RuleId> rule_from(std::string_view name) {
  for (const RuleInfo& info : kTable) {
    if (info.name == name) return info.id;
  }
  return std::nullopt;
}

WatchRules::WatchRules() {
  for (std::size_t i = 0; i < kRules; ++i) rules_[i] = kTable[i].standard;
}

}  // namespace assay
