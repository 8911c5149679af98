#include "http/prometheus.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <unordered_set>

#include "leader/alert_desk.h"
#include "leader/leader.h"
#include "leader/node.h"
#include "leader/node_registry.h"
#include "leader/node_status.h"
#include "model/metric.h"
#include "model/node_state.h"
#include "model/series.h"

namespace assay {
namespace {

constexpr double kMebibyte = 1024 * 1024;
/// Some values are read once a minute.
constexpr Nanos kFresh = std::chrono::seconds(150);

/// Name and labels. The page is read every few seconds: what one agent names its series must not make it huge.
constexpr std::size_t kLineBytes = 2048;
/// Some twenty times what a node with eight GPUs needs.
constexpr std::size_t kNodeBytes = std::size_t{2} << 20;

struct DcgmName {
  std::string_view metric;
  std::string_view name;
  double scale;
  std::string_view help;
};

/// In dcgm-exporter's units: percent, MiB, mJ.
constexpr std::array kDcgmNames = {
    DcgmName{"gpu.util", "DCGM_FI_DEV_GPU_UTIL", 100, "GPU utilization (in %)."},
    // Dashboards draw this one. The profiler's own figure is not read; both count time with a kernel at work.
    DcgmName{"gpu.util", "DCGM_FI_PROF_GR_ENGINE_ACTIVE", 1, "Ratio of time the graphics engine is active."},
    DcgmName{"gpu.memory_util", "DCGM_FI_DEV_MEM_COPY_UTIL", 100, "Memory utilization (in %)."},
    DcgmName{"gpu.memory_used_bytes", "DCGM_FI_DEV_FB_USED", 1 / kMebibyte, "Framebuffer memory used (in MiB)."},
    DcgmName{"gpu.memory_total_bytes", "DCGM_FI_DEV_FB_TOTAL", 1 / kMebibyte, "Framebuffer memory (in MiB)."},
    DcgmName{"gpu.memory_reserved_bytes", "DCGM_FI_DEV_FB_RESERVED", 1 / kMebibyte,
             "Framebuffer memory reserved (in MiB)."},
    DcgmName{"gpu.temperature_c", "DCGM_FI_DEV_GPU_TEMP", 1, "GPU temperature (in C)."},
    DcgmName{"gpu.memory_temperature_c", "DCGM_FI_DEV_MEMORY_TEMP", 1, "Memory temperature (in C)."},
    DcgmName{"gpu.power_w", "DCGM_FI_DEV_POWER_USAGE", 1, "Power draw (in W)."},
    DcgmName{"gpu.power_limit_w", "DCGM_FI_DEV_POWER_MGMT_LIMIT", 1, "Power limit (in W)."},
    DcgmName{"gpu.energy_total_j", "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", 1000,
             "Total energy consumption since boot (in mJ)."},
    DcgmName{"gpu.sm_clock_mhz", "DCGM_FI_DEV_SM_CLOCK", 1, "SM clock frequency (in MHz)."},
    DcgmName{"gpu.memory_clock_mhz", "DCGM_FI_DEV_MEM_CLOCK", 1, "Memory clock frequency (in MHz)."},
    DcgmName{"gpu.pcie_replays", "DCGM_FI_DEV_PCIE_REPLAY_COUNTER", 1, "Total number of PCIe retries."},
    DcgmName{"gpu.ecc_corrected", "DCGM_FI_DEV_ECC_SBE_VOL_TOTAL", 1, "Corrected memory errors."},
    DcgmName{"gpu.ecc_uncorrected", "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", 1, "Uncorrected memory errors."},
    DcgmName{"gpu.remapped_rows_corrected", "DCGM_FI_DEV_CORRECTABLE_REMAPPED_ROWS", 1,
             "Remapped rows for correctable errors."},
    DcgmName{"gpu.remapped_rows_uncorrected", "DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS", 1,
             "Remapped rows for uncorrectable errors."},
    DcgmName{"gpu.row_remap_failed", "DCGM_FI_DEV_ROW_REMAP_FAILURE", 1, "Whether remapping of rows has failed."},
    DcgmName{"gpu.sm_active", "DCGM_FI_PROF_SM_ACTIVE", 1, "Ratio of cycles an SM has at least 1 warp."},
    DcgmName{"gpu.sm_occupancy", "DCGM_FI_PROF_SM_OCCUPANCY", 1, "Ratio of resident warps on an SM."},
    DcgmName{"gpu.tensor_active", "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", 1, "Ratio of cycles the tensor pipe is active."},
    DcgmName{"gpu.dram_active", "DCGM_FI_PROF_DRAM_ACTIVE", 1, "Ratio of cycles the memory interface is active."},
    DcgmName{"gpu.fp64_active", "DCGM_FI_PROF_PIPE_FP64_ACTIVE", 1, "Ratio of cycles the fp64 pipe is active."},
    DcgmName{"gpu.fp32_active", "DCGM_FI_PROF_PIPE_FP32_ACTIVE", 1, "Ratio of cycles the fp32 pipe is active."},
    DcgmName{"gpu.fp16_active", "DCGM_FI_PROF_PIPE_FP16_ACTIVE", 1, "Ratio of cycles the fp16 pipe is active."},
    DcgmName{"gpu.pcie_receive_bytes_per_second", "DCGM_FI_PROF_PCIE_RX_BYTES", 1,
             "Bytes received over PCIe per second."},
    DcgmName{"gpu.pcie_transmit_bytes_per_second", "DCGM_FI_PROF_PCIE_TX_BYTES", 1, "Bytes sent over PCIe per second."},
    DcgmName{"gpu.nvlink_receive_bytes_per_second", "DCGM_FI_PROF_NVLINK_RX_BYTES", 1,
             "Bytes received over NVLink per second."},
    DcgmName{"gpu.nvlink_transmit_bytes_per_second", "DCGM_FI_PROF_NVLINK_TX_BYTES", 1,
             "Bytes sent over NVLink per second."},
};

/// What the leader says of itself and of its nodes.
const std::set<std::string, std::less<>> kOwnNames = {
    "assay_node_up",          "assay_samples_total", "assay_samples_refused_total", "assay_batches_total",
    "assay_series",           "assay_head_bytes",    "assay_live_clients",          "assay_gpu_xid_total",
    "assay_metrics_left_out", "assay_alerts",        "assay_leader_problems"};

std::string_view type_of(std::string_view metric) {
  const auto* info = find_metric(metric);
  return info && info->kind == MetricInfo::Kind::counter ? "counter" : "gauge";
}

void put_label_value(std::string& out, std::string_view value) {
  for (const char c : value) {
    if (c == '\\' || c == '"') out += '\\';
    if (c == '\n') {
      out += "\\n";
    } else {
      out += c;
    }
  }
}

void put_label(std::string& out, std::string_view name, std::string_view value) {
  if (out.back() != '{') out += ',';
  fmt::format_to(std::back_inserter(out), "{}=\"", name);
  put_label_value(out, value);
  out += '"';
}

/// Letters, digits and '_' only, no digit at the start, and not what Prometheus keeps for itself ("__name__").
std::string plain_name(std::string_view name) {
  std::string plain(name);
  for (char& c : plain) {
    const bool fits = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    if (!fits) c = '_';
  }
  if (plain.empty() || (plain[0] >= '0' && plain[0] <= '9')) plain.insert(0, 1, '_');
  if (plain.starts_with("__")) plain.insert(0, "label");
  return plain;
}

void put_value(std::string& line, double value) {
  if (std::isfinite(value)) {
    fmt::format_to(std::back_inserter(line), "}} {}\n", value);
  } else {
    line += std::isnan(value) ? "} NaN\n" : value > 0 ? "} +Inf\n" : "} -Inf\n";
  }
}

/// One metric with its lines: all lines of a metric must stand together.
struct Family {
  std::string type = "gauge";
  std::string help;
  std::string lines;
};
using Families = std::map<std::string, Family>;

/// The lines of one node, as far as they are good for a page: each with labels of its own, none too long, all together
/// not too many.
class NodeLines {
 public:
  NodeLines(Families& families, const NodeRecord& node) : families_(families), node_(node) {
    for (const auto& device : node.devices) devices_[device.id] = &device;
  }

  void put(const LiveValue& live);
  /// Each fault counted by number, and the number alone as dcgm-exporter has it.
  void put_xids(const std::map<std::pair<std::string, int>, std::uint64_t>& xids);
  /// What follows from several values of a GPU.
  void put_free_memory();
  std::size_t left_out() const { return left_out_; }

 private:
  struct Memory {
    double total = std::numeric_limits<double>::quiet_NaN();
    double used = std::numeric_limits<double>::quiet_NaN();
    double reserved = 0;
  };

  std::string gpu_labels(const std::string& gpu) const;
  void put_dcgm(const DcgmName& known, const std::string& gpu, double value);
  void put_own(const LiveValue& live);
  /// The family that the line (which ends before its closing brace) was put into; null if it was left out.
  Family* add(const std::string& name, std::string line, double value);

  Families& families_;
  const NodeRecord& node_;
  std::map<std::string, const NodeRecord::Device*, std::less<>> devices_;
  std::map<std::string, Memory> memory_;
  std::unordered_set<std::string> seen_;
  std::size_t bytes_ = 0;
  std::size_t left_out_ = 0;
};

Family* NodeLines::add(const std::string& name, std::string line, double value) {
  if (line.size() > kLineBytes || bytes_ + line.size() > kNodeBytes || !seen_.insert(line).second) {
    ++left_out_;
    return nullptr;
  }
  bytes_ += line.size();
  Family& family = families_[name];
  put_value(line, value);
  family.lines += line;
  return &family;
}

std::string NodeLines::gpu_labels(const std::string& gpu) const {
  const auto device = devices_.find(gpu);
  const auto fact = [&](const char* name) -> std::string_view {
    if (device == devices_.end()) return {};
    const auto found = device->second->facts.find(name);
    return found == device->second->facts.end() ? std::string_view() : std::string_view(found->second);
  };
  std::string labels = "{";
  put_label(labels, "gpu", fact("index"));
  put_label(labels, "UUID", gpu);
  put_label(labels, "pci_bus_id", fact("pci_bus_id"));
  put_label(labels, "device", fmt::format("nvidia{}", fact("index")));
  put_label(labels, "modelName", fact("name"));
  put_label(labels, "Hostname", node_.name);
  return labels;
}

void NodeLines::put_dcgm(const DcgmName& known, const std::string& gpu, double value) {
  const std::string name(known.name);
  if (Family* family = add(name, name + gpu_labels(gpu), value * known.scale)) {
    family->type = type_of(known.metric);
    family->help = known.help;
  }
}

void NodeLines::put(const LiveValue& live) {
  const SeriesKey& key = live.series.key;
  const auto gpu = key.labels.find("gpu");
  // With one more label it is another series, which dcgm-exporter does not have.
  if (gpu == key.labels.end() || key.labels.size() != 2) return put_own(live);
  bool is_known = false;
  for (const auto& known : kDcgmNames) {
    if (known.metric != key.name) continue;
    is_known = true;
    put_dcgm(known, gpu->second, live.value);
  }
  if (!is_known) return put_own(live);
  if (key.name == "gpu.memory_total_bytes") memory_[gpu->second].total = live.value;
  if (key.name == "gpu.memory_used_bytes") memory_[gpu->second].used = live.value;
  if (key.name == "gpu.memory_reserved_bytes") memory_[gpu->second].reserved = live.value;
}

void NodeLines::put_own(const LiveValue& live) {
  const SeriesKey& key = live.series.key;
  const bool counts = type_of(key.name) == "counter";
  const std::string name = "assay_" + plain_name(key.name) + (counts ? "_total" : "");
  // A metric of an agent must not stand among what the leader says of itself.
  if (kOwnNames.contains(name)) {
    ++left_out_;
    return;
  }
  std::string line = name + '{';
  std::set<std::string> labels;
  for (const auto& [label, value] : key.labels) {
    const std::string plain = plain_name(label);
    if (labels.insert(plain).second) put_label(line, plain, value);
    if (line.size() > kLineBytes) break;
  }
  Family* family = add(name, std::move(line), live.value);
  if (!family || !family->help.empty()) return;
  if (counts) family->type = "counter";
  if (const auto* info = find_metric(key.name)) family->help = fmt::format("{} ({}).", info->description, info->unit);
}

void NodeLines::put_free_memory() {
  constexpr DcgmName kFree{"", "DCGM_FI_DEV_FB_FREE", 1 / kMebibyte, "Framebuffer memory free (in MiB)."};
  for (const auto& [gpu, memory] : memory_) {
    const double free = memory.total - memory.used - memory.reserved;
    if (!std::isnan(free)) put_dcgm(kFree, gpu, std::max(free, 0.0));
  }
}

void NodeLines::put_xids(const std::map<std::pair<std::string, int>, std::uint64_t>& xids) {
  constexpr DcgmName kXid{"", "DCGM_FI_DEV_XID_ERRORS", 1,
                          "XID of a GPU since the leader started, 0 for none; of several the highest."};
  std::map<std::string, int> shown;
  for (const auto& [id, device] : devices_) shown[id] = 0;
  for (const auto& [fault, count] : xids) {
    const auto& [gpu, xid] = fault;
    shown[gpu] = xid;  // in ascending order
    const std::string name = "assay_gpu_xid_total";
    std::string line = name + gpu_labels(gpu);
    put_label(line, "xid", fmt::format("{}", xid));
    if (Family* family = add(name, std::move(line), static_cast<double>(count))) {
      family->type = "counter";
      family->help = "XID errors of a GPU by number since the leader started.";
    }
  }
  for (const auto& [gpu, xid] : shown) put_dcgm(kXid, gpu, xid);
}

void put_own(Families& families, const LeaderStatus& status) {
  const auto put = [&](const char* name, const char* type, std::uint64_t value, const char* help) {
    families[name] = {.type = type, .help = help, .lines = fmt::format("{} {}\n", name, value)};
  };
  put("assay_samples_total", "counter", status.samples, "Samples stored since the leader started.");
  put("assay_samples_refused_total", "counter", status.samples_refused,
      "Samples that were too old or from the future.");
  put("assay_batches_total", "counter", status.batches, "Batches taken since the leader started.");
  put("assay_series", "gauge", status.series, "Series in the store.");
  put("assay_head_bytes", "gauge", status.head_bytes, "Memory for points that are not in chunks yet.");
  put("assay_live_clients", "gauge", status.live_clients, "Clients of the live stream.");
}

/// By kind and level; every kind is there, so that a rule on it has something to look at while all is well.
void put_problems(Families& families, const std::vector<LeaderProblem>& problems) {
  Family& family = families["assay_leader_problems"];
  family.help = "Problems of the leader itself, by kind and level.";
  std::map<std::pair<std::string_view, std::string_view>, int> counts;
  for (const ProblemKind kind : kProblemKinds) counts[{name_of(kind), name_of(usual_level(kind))}] = 0;
  for (const auto& problem : problems) ++counts[{name_of(problem.kind), name_of(problem.level)}];
  for (const auto& [key, count] : counts) {
    family.lines += "assay_leader_problems{";
    put_label(family.lines, "kind", key.first);
    put_label(family.lines, "level", key.second);
    put_value(family.lines, count);
  }
}

/// By rule, severity and node: Prometheus' own alerting can be put on top of ours.
void put_alerts(Families& families, const std::vector<AlertRecord>& alerts) {
  Family& family = families["assay_alerts"];
  family.help = "Open alerts.";
  std::map<std::tuple<std::string, std::string, std::string>, int> counts;
  for (const auto& record : alerts) {
    const Alert& alert = record.alert;
    ++counts[{alert.rule, std::string(name_of(alert.severity)), alert.node}];
  }
  for (const auto& [key, count] : counts) {
    const auto& [rule, severity, node] = key;
    family.lines += "assay_alerts{";
    put_label(family.lines, "rule", rule);
    put_label(family.lines, "severity", severity);
    put_label(family.lines, "node", node);
    put_value(family.lines, count);
  }
}

}  // namespace

std::string prometheus_text(Leader& leader) {
  Families families;
  const SteadyTime now = leader.clock().now();
  const auto put_of_node = [&](const char* name, const NodeRecord& node, double value) {
    std::string& lines = families[name].lines;
    lines += fmt::format("{}{{", name);
    put_label(lines, "node", node.name);
    put_label(lines, "simulated", node.simulated ? "true" : "false");
    put_value(lines, value);
  };
  for (const auto& node : leader.nodes().all()) {
    const NodeStatus status = node->status(now);
    const bool up = status.state != NodeState::offline;
    put_of_node("assay_node_up", status.record, up ? 1 : 0);
    if (!up) continue;
    NodeLines lines(families, status.record);
    // By the clock that the values were read with.
    const std::int64_t oldest = (status.own_time(leader.clock().wall()) - kFresh).time_since_epoch().count();
    lines.put_xids(status.xids);
    node->for_each_value(0, [&](const LiveValue& live) {
      if (live.time_ns >= oldest) lines.put(live);
    });
    lines.put_free_memory();
    put_of_node("assay_metrics_left_out", status.record, static_cast<double>(lines.left_out()));
  }
  families["assay_node_up"].help = "1 while the node is heard of, else 0.";
  families["assay_metrics_left_out"].help = "Values of the node that this page has no room, or no name, for.";
  put_alerts(families, leader.alerts().open_alerts());
  const LeaderStatus status = leader.status();
  put_own(families, status);
  put_problems(families, status.problems);
  std::string text;
  for (const auto& [name, family] : families) {
    if (!family.help.empty()) text += fmt::format("# HELP {} {}\n", name, family.help);
    text += fmt::format("# TYPE {} {}\n", name, family.type);
    text += family.lines;
  }
  return text;
}

}  // namespace assay
