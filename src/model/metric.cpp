#include "model/metric.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <unordered_map>

namespace assay {
namespace {

using enum MetricInfo::Better;
using enum MetricInfo::Kind;

constexpr std::array kMetrics = {
    // Reported by the workload.
    MetricInfo{"loss", "", "Training loss", lower, gauge, {.curve = 1, .study = 1, .outcome = true}},
    MetricInfo{"perplexity", "", "e to the training loss", lower, gauge, {.curve = 4, .study = 4, .outcome = true}},
    MetricInfo{"learning_rate", "", "Learning rate of the step", neither},
    MetricInfo{"grad_norm", "", "Norm of the gradient, before clipping", neither},
    MetricInfo{"samples_per_second",
               "samples/s",
               "Training samples per second, all ranks together",
               higher,
               gauge,
               {.study = 5}},
    MetricInfo{"tokens_per_second", "tok/s", "Tokens per second, all ranks together", higher, gauge, {.study = 6}},
    MetricInfo{"step_seconds", "s", "Time of one optimiser step", lower, gauge, {.curve = 5}},
    MetricInfo{"val_loss", "", "Loss on the validation data", lower, gauge, {.curve = 2, .study = 2, .outcome = true}},
    MetricInfo{"val_accuracy",
               "ratio",
               "Share of the validation data that was classified correctly",
               higher,
               gauge,
               {.curve = 3, .study = 3, .outcome = true}},
    MetricInfo{"val_perplexity", "", "e to the validation loss", lower, gauge, {.outcome = true}},
    MetricInfo{"accuracy",
               "ratio",
               "Share of the training data that was classified correctly",
               higher,
               gauge,
               {.outcome = true}},
    MetricInfo{"test_loss", "", "Loss on the test data", lower, gauge, {.outcome = true}},
    MetricInfo{"test_accuracy",
               "ratio",
               "Share of the test data that was classified correctly",
               higher,
               gauge,
               {.outcome = true}},
    MetricInfo{
        "throughput", "1/s", "Work done per second, as the workload counts it", higher, gauge, {.outcome = true}},
    MetricInfo{"events_sent", "", "Events that the null workload sent", neither},
    MetricInfo{"events_recorded", "", "Events of the null workload that were recorded", neither},
    MetricInfo{"events_per_second", "1/s", "Events of the null workload per second", higher},
    MetricInfo{"final_loss", "", "Mean training loss of the last 20 steps", lower, gauge, {.outcome = true}},
    MetricInfo{"loss_floor", "", "Lowest loss that any model can reach on generated data", neither},
    MetricInfo{"data_seconds", "s", "Part of a step: waiting for its samples", lower},
    MetricInfo{"forward_seconds", "s", "Part of a step: the forward pass", lower},
    MetricInfo{"backward_seconds", "s", "Part of a step: the backward pass", lower},
    MetricInfo{"communication_seconds", "s", "Part of a step: waiting for other ranks' gradients", lower},
    MetricInfo{"optimizer_seconds", "s", "Part of a step: the update of the parameters", lower},
    MetricInfo{"communication_share", "ratio", "Share of the training time spent waiting for other ranks", lower},
    MetricInfo{"input_wait_share", "ratio", "Share of the training time spent waiting for samples", lower},
    MetricInfo{"samples_per_second_low", "samples/s", "Lower end of the 95 % confidence interval of samples_per_second",
               neither},
    MetricInfo{"samples_per_second_high", "samples/s",
               "Upper end of the 95 % confidence interval of samples_per_second", neither},
    MetricInfo{"rank_busy_seconds_min", "s", "Time of a step without waiting for others, of the fastest rank", lower},
    MetricInfo{"rank_busy_seconds_max", "s", "Time of a step without waiting for others, of the slowest rank", lower},
    MetricInfo{"rank_memory_bytes_min", "B", "Peak memory (GPU, else resident) of the rank with the least", lower},
    MetricInfo{"rank_memory_bytes_max", "B", "Peak memory (GPU, else resident) of the rank with the most", lower},
    MetricInfo{"steps_done", "", "Optimiser steps done", neither},
    MetricInfo{"samples_done", "", "Samples learnt from, all ranks together", neither},
    MetricInfo{"tokens_done", "", "Tokens learnt from, all ranks together", neither},
    MetricInfo{"skipped_steps", "", "Steps left out because a gradient overflowed (fp16)", lower},
    MetricInfo{"loss_scale", "", "What the loss is multiplied by after the last step (fp16)", neither},
    MetricInfo{"warmup_steps_left_out", "", "Steps at the beginning that the throughput does not count", neither},
    MetricInfo{"train_seconds", "s", "Time in training steps, without start-up and evaluations", lower},
    MetricInfo{"flops_per_second", "FLOP/s", "Useful floating-point operations per second, all ranks together", higher},
    MetricInfo{"peak_flops_per_second", "FLOP/s", "Measured ceiling of matrix products, all ranks together", higher},
    MetricInfo{"memory_bytes_per_second", "B/s", "Bytes moved through device memory per second, for a roofline",
               higher},
    MetricInfo{"peak_memory_bytes_per_second", "B/s", "Measured ceiling of the device's memory", neither},
    MetricInfo{"mfu", "ratio", "Model FLOPs utilisation: useful operations over the measured ceiling", higher},
    MetricInfo{"gpu_memory_bytes", "B", "GPU memory that the workload's tensors take", lower},
    MetricInfo{"gpu_memory_reserved_bytes", "B", "GPU memory that the workload holds, in use or not", lower},
    MetricInfo{"gpu_memory_peak_bytes", "B", "The most GPU memory that the workload's tensors have taken", lower},
    MetricInfo{"host_rss_bytes", "B", "Resident memory of the process that reports", lower},

    // Mostly of imported results, and of inference.
    MetricInfo{"epochs_done", "", "Passes over the training data done", neither},
    MetricInfo{"seconds_per_epoch", "s", "Training time of one pass over the data, on average", lower},
    MetricInfo{"samples_asked", "", "Samples (requests) asked for", neither},
    MetricInfo{"samples_lost", "", "Samples asked for and not done", lower},
    MetricInfo{"stated_samples_per_second", "samples/s",
               "Rate as an imported result states it; compare with its own data", neither},
    MetricInfo{"scheduled_samples_per_second", "samples/s", "Samples that were due per second", neither},
    MetricInfo{"wall_seconds", "s", "Time that all nodes together took, by the clock on the wall", lower},
    MetricInfo{"mean_latency_seconds", "s", "Time from a request to the end of its answer, mean over all samples",
               lower},
    MetricInfo{"latency_min_seconds", "s", "Shortest latency", lower},
    MetricInfo{"latency_p50_seconds", "s", "Latency that half of the samples keep", lower},
    MetricInfo{"latency_p90_seconds", "s", "Latency that 90 % of the samples keep", lower},
    MetricInfo{"latency_p95_seconds", "s", "Latency that 95 % of the samples keep", lower},
    MetricInfo{"latency_p97_seconds", "s", "Latency that 97 % of the samples keep", lower},
    MetricInfo{"latency_p99_seconds", "s", "Latency that 99 % of the samples keep", lower},
    MetricInfo{"latency_p99_9_seconds", "s", "Latency that 99.9 % of the samples keep", lower},
    MetricInfo{"latency_max_seconds", "s", "Longest latency", lower},
    MetricInfo{"mean_ttft_seconds", "s", "Time from a request to the first token of its answer, mean", lower},
    MetricInfo{"ttft_p50_seconds", "s", "Time to the first token that half of the samples keep", lower},
    MetricInfo{"ttft_p90_seconds", "s", "Time to the first token that 90 % of the samples keep", lower},
    MetricInfo{"ttft_p95_seconds", "s", "Time to the first token that 95 % of the samples keep", lower},
    MetricInfo{"ttft_p97_seconds", "s", "Time to the first token that 97 % of the samples keep", lower},
    MetricInfo{"ttft_p99_seconds", "s", "Time to the first token that 99 % of the samples keep", lower},
    MetricInfo{"ttft_p99_9_seconds", "s", "Time to the first token that 99.9 % of the samples keep", lower},
    MetricInfo{"mean_tpot_seconds", "s", "Time per output token after the first, mean", lower},
    MetricInfo{"tpot_p50_seconds", "s", "Time per output token that half of the samples keep", lower},
    MetricInfo{"tpot_p90_seconds", "s", "Time per output token that 90 % of the samples keep", lower},
    MetricInfo{"tpot_p95_seconds", "s", "Time per output token that 95 % of the samples keep", lower},
    MetricInfo{"tpot_p97_seconds", "s", "Time per output token that 97 % of the samples keep", lower},
    MetricInfo{"tpot_p99_seconds", "s", "Time per output token that 99 % of the samples keep", lower},
    MetricInfo{"tpot_p99_9_seconds", "s", "Time per output token that 99.9 % of the samples keep", lower},
    MetricInfo{"mean_lateness_seconds", "s", "How late the client sent a request, mean", lower},
    MetricInfo{"lateness_p50_seconds", "s", "How late the client sent half of the requests at most", lower},
    MetricInfo{"lateness_p90_seconds", "s", "How late the client sent 90 % of the requests at most", lower},
    MetricInfo{"lateness_max_seconds", "s", "How late the client sent the latest request", lower},
    MetricInfo{"lateness_p99_seconds", "s", "How late the client sent 99 % of the requests at most", lower},
    MetricInfo{"mean_itl_seconds", "s", "Time between two tokens of an answer, mean", lower},
    MetricInfo{"itl_p50_seconds", "s", "Time between two tokens that half of the gaps keep", lower},
    MetricInfo{"itl_p90_seconds", "s", "Time between two tokens that 90 % of the gaps keep", lower},
    MetricInfo{"itl_max_seconds", "s", "Longest time between two tokens", lower},
    MetricInfo{"ttft_max_seconds", "s", "Longest time to the first token", lower},
    MetricInfo{"tpot_max_seconds", "s", "Longest time per output token", lower},
    MetricInfo{"itl_p99_seconds", "s", "Time between two tokens that 99 % of the gaps keep", lower},
    MetricInfo{"delivered_samples_per_second", "samples/s", "Samples that were really sent per second", neither},
    MetricInfo{"mlperf_official", "", "1 if the load was as long and as large as MLPerf asks for, else 0: unofficial",
               neither},
    MetricInfo{"success_rate", "ratio", "Share of the samples that ended well", higher},
    MetricInfo{"prefix_cache_hit_rate", "ratio", "Share of the prompts' tokens that the server's prefix cache had",
               neither},
    MetricInfo{"input_tokens_per_second", "tok/s", "Tokens of prompts per second", higher},
    MetricInfo{"steady_samples_per_second", "samples/s",
               "Samples per second that ended well between the end of the warm-up and the last request", higher},
    MetricInfo{"steady_tokens_per_second", "tok/s", "Output tokens per second of such samples", higher},
    MetricInfo{"goodput_per_second", "samples/s", "Samples per second that ended well and within every limit", higher},
    MetricInfo{"goodput_tokens_per_second", "tok/s", "Output tokens per second of such samples", higher},
    MetricInfo{"peak_requests_per_second", "1/s", "Highest rate that keeps the limits", higher},
    MetricInfo{"capacity_requests_per_second", "1/s", "What the server completed when it could not keep up", higher},
    MetricInfo{"knee_requests_per_second", "1/s", "Rate from which on the server did not keep up", higher},
    MetricInfo{"peak_confidence", "ratio", "Confidence that the limits are kept at the highest rate", neither},
    MetricInfo{"peak_probes", "", "Loads that the search for the highest rate took", neither},
    MetricInfo{"client_waited_share", "ratio", "Share of the time that the client was ready and waited for a CPU",
               lower},
    MetricInfo{"client_stolen_share", "ratio", "Share of the client's CPU time that its hypervisor took", lower},
    MetricInfo{"client_busy_share", "ratio", "Share of the time that the client's busiest reader of answers computed",
               lower},
    MetricInfo{"clients", "", "Clients that sent the load together", neither},
    MetricInfo{"clock_bound_seconds", "s", "How well the clocks of several clients are known, the worst of them",
               lower},
    MetricInfo{"latency_seconds", "s", "Latency of the answers of the last second, median", lower},
    MetricInfo{"ttft_seconds", "s", "Time to the first token of the answers of the last second, median", lower},
    MetricInfo{"tpot_seconds", "s", "Time per output token of the answers of the last second, median", lower},
    MetricInfo{"latency_live_p99_seconds", "s", "Latency that 99 % of the answers of the last second kept", lower},
    MetricInfo{"ttft_live_p99_seconds", "s", "Time to the first token that 99 % of the answers of the last second kept",
               lower},
    MetricInfo{"tpot_live_p99_seconds", "s", "Time per output token that 99 % of the answers of the last second kept",
               lower},
    MetricInfo{"requests_asked_per_second", "1/s", "Requests that the load asks for per second", neither},
    MetricInfo{"requests_sent_per_second", "1/s", "Requests that were sent in the last second", neither},
    MetricInfo{"requests_done_per_second", "1/s", "Requests that ended well in the last second", higher},
    MetricInfo{"requests_failed_per_second", "1/s", "Requests that failed in the last second", lower},
    MetricInfo{"requests_failed", "", "Requests that failed since the load began", lower},
    MetricInfo{"requests_in_flight", "", "Requests that wait for their answer", neither},
    MetricInfo{"rouge_1", "ratio", "ROUGE-1 of answers against their references (F1, not stemmed), mean", higher},
    MetricInfo{"rouge_2", "ratio", "ROUGE-2 of answers against their references (F1, not stemmed), mean", higher},
    MetricInfo{"rouge_l", "ratio", "ROUGE-L of answers against their references (F1, not stemmed), mean", higher},
    MetricInfo{"answers_scored", "", "Answers that had a reference to be held against", neither},
    MetricInfo{"format_rate", "ratio", "Share of the answers that are of the format asked for", higher},
    MetricInfo{"mean_input_tokens", "", "Tokens of a prompt, mean", neither},
    MetricInfo{"mean_output_tokens", "", "Tokens of an answer, mean", neither},
    MetricInfo{"sample_tokens_per_second", "tok/s", "Mean of the samples' own output rates; not the rate of the node",
               higher},

    // Of the workload's processes, read from outside.
    MetricInfo{"duration_seconds", "s", "Time from the start of the workload to its end", lower},
    MetricInfo{"cpu_seconds", "s", "CPU time of the workload, all of its processes together", lower},
    MetricInfo{"host_rss_peak_bytes", "B", "The most resident memory that one of its processes had", lower},
    MetricInfo{"workload.cpu_util",
               "cores",
               "CPU cores in use by the workload, all of its processes together",
               neither,
               gauge,
               {.resource = 7}},
    MetricInfo{"workload.rss_bytes",
               "B",
               "Resident memory of the workload, all of its processes together",
               lower,
               gauge,
               {.resource = 8}},
    MetricInfo{"workload.processes", "", "Processes of the workload", neither},

    // Of the machine.
    MetricInfo{
        "host.cpu_util", "ratio", "Share of the machine's CPU time in use, by anyone", neither, gauge, {.resource = 6}},
    MetricInfo{"host.load1", "", "Processes that run or wait, averaged over one minute", neither},
    MetricInfo{"host.memory_used_bytes",
               "B",
               "Memory in use: the total less what is available",
               neither,
               gauge,
               {.resource = 9}},
    MetricInfo{"host.memory_available_bytes", "B", "Memory that programs can still get without swapping", neither},
    MetricInfo{"host.swap_used_bytes", "B", "Swap space in use", lower},
    MetricInfo{"host.disk_read_bytes_per_second", "B/s", "Read from local disks", neither},
    MetricInfo{"host.disk_write_bytes_per_second", "B/s", "Written to local disks", neither},
    MetricInfo{"host.net_receive_bytes_per_second", "B/s", "Received from the network, without loopback", neither},
    MetricInfo{"host.net_transmit_bytes_per_second", "B/s", "Sent to the network, without loopback", neither},

    // Of the parts of the machine, which labels name.
    MetricInfo{"host.core_util", "ratio", "Share of the time of one CPU core in use; label `core`", neither},
    MetricInfo{"host.device_read_bytes_per_second", "B/s", "Read from one disk; label `device`", neither},
    MetricInfo{"host.device_write_bytes_per_second", "B/s", "Written to one disk; label `device`", neither},
    MetricInfo{"host.device_busy", "ratio", "Share of time with a request under way at one disk; label `device`",
               neither},
    MetricInfo{"host.filesystem_used_bytes", "B", "In use on one local file system; label `mount`", neither},
    MetricInfo{"host.filesystem_available_bytes", "B", "Left for programs on one local file system; label `mount`",
               higher},
    MetricInfo{"host.interface_receive_bytes_per_second", "B/s", "Received by one network interface; label `interface`",
               neither},
    MetricInfo{"host.interface_transmit_bytes_per_second", "B/s", "Sent by one network interface; label `interface`",
               neither},
    MetricInfo{"host.interface_errors", "", "Damaged packets at one network interface since boot", lower, counter},
    MetricInfo{"host.interface_drops", "", "Packets that one network interface had no room for since boot", lower,
               counter},
    MetricInfo{"host.infiniband_up", "", "1 while the port is active, else 0; labels `device` and `port`", higher},
    MetricInfo{"host.infiniband_receive_bytes_per_second", "B/s", "Received by one InfiniBand port", neither},
    MetricInfo{"host.infiniband_transmit_bytes_per_second", "B/s", "Sent by one InfiniBand port", neither},
    MetricInfo{"host.infiniband_errors", "", "Errors of one InfiniBand port since boot; label `kind`", lower, counter},
    MetricInfo{"host.temperature_c", "°C", "One sensor of the machine; labels `chip` and `sensor`", lower},
    MetricInfo{"host.cgroup_memory_used_bytes", "B", "Memory that our cgroup uses", neither},
    MetricInfo{"host.cgroup_memory_limit_bytes", "B", "The least memory that our cgroup or one above it may use",
               neither},
    MetricInfo{"host.cgroup_cpu_util", "cores", "CPU cores in use by our cgroup", neither},
    MetricInfo{"host.cgroup_cpu_limit", "cores", "The fewest CPU cores that our cgroup or one above it may use",
               neither},
    MetricInfo{"host.cgroup_throttled_seconds", "s", "Time for which our cgroup was held back by its limit", lower,
               counter},

    // Of one GPU; the label `gpu` holds its UUID.
    MetricInfo{
        "gpu.util", "ratio", "Share of time in which at least one kernel was running", neither, gauge, {.resource = 1}},
    MetricInfo{"gpu.memory_util", "ratio", "Share of time in which GPU memory was read or written", neither},
    MetricInfo{"gpu.sm_active", "ratio", "Share of time and multiprocessors with a warp on them", neither},
    MetricInfo{"gpu.sm_occupancy", "ratio", "Share of the warps that the multiprocessors have room for", neither},
    MetricInfo{"gpu.tensor_active", "ratio", "Share of cycles in which the tensor cores were busy", neither},
    MetricInfo{"gpu.fp16_active", "ratio", "Share of cycles with 16-bit arithmetic outside of the tensor cores",
               neither},
    MetricInfo{"gpu.fp32_active", "ratio", "Share of cycles with 32-bit arithmetic outside of the tensor cores",
               neither},
    MetricInfo{"gpu.fp64_active", "ratio", "Share of cycles with 64-bit arithmetic outside of the tensor cores",
               neither},
    MetricInfo{"gpu.dram_active", "ratio", "Share of cycles in which GPU memory was moving data", neither},
    MetricInfo{"gpu.memory_used_bytes", "B", "GPU memory in use, by anyone", neither, gauge, {.resource = 2}},
    MetricInfo{"gpu.memory_total_bytes", "B", "GPU memory that there is", neither},
    MetricInfo{"gpu.memory_reserved_bytes", "B", "GPU memory that the driver keeps for itself", neither},
    MetricInfo{"gpu.temperature_c", "°C", "Temperature of the GPU", lower, gauge, {.resource = 3}},
    MetricInfo{"gpu.memory_temperature_c", "°C", "Temperature of the GPU's memory", lower},
    MetricInfo{"gpu.fan", "ratio", "Speed of the fan, of its highest", neither},
    MetricInfo{"gpu.power_w", "W", "Power drawn by the board", neither, gauge, {.resource = 4}},
    MetricInfo{"gpu.power_limit_w", "W", "Power that the board may draw", neither},
    MetricInfo{"gpu.energy_j", "J", "Energy drawn by the board since the run began", lower},
    MetricInfo{"gpu.energy_total_j", "J", "Energy drawn by the board since the driver was loaded", neither, counter},
    MetricInfo{"gpu.sm_clock_mhz", "MHz", "Clock of the multiprocessors", neither, gauge, {.resource = 5}},
    MetricInfo{"gpu.sm_clock_max_mhz", "MHz", "Highest clock of the multiprocessors", neither},
    MetricInfo{"gpu.memory_clock_mhz", "MHz", "Clock of GPU memory", neither},
    MetricInfo{"gpu.memory_clock_max_mhz", "MHz", "Highest clock of GPU memory", neither},
    MetricInfo{"gpu.throttle", "", "1 while the clocks are held for the reason that the label `reason` names, else 0",
               lower},
    MetricInfo{"gpu.throttled_seconds", "s", "Time with a clock held down by heat or power since the run began", lower},
    MetricInfo{"gpu.power_violation_seconds", "s", "Time below the wanted clocks for power since the driver was loaded",
               lower, counter},
    MetricInfo{"gpu.thermal_violation_seconds", "s",
               "Time below the wanted clocks for heat since the driver was loaded", lower, counter},
    MetricInfo{"gpu.ecc_corrected", "", "Memory errors that were corrected since the driver was loaded", lower,
               counter},
    MetricInfo{"gpu.ecc_uncorrected", "", "Memory errors that were not corrected since the driver was loaded", lower,
               counter},
    MetricInfo{"gpu.remapped_rows_corrected", "", "Rows of GPU memory replaced after corrected errors", lower, counter},
    MetricInfo{"gpu.remapped_rows_uncorrected", "", "Rows of GPU memory replaced after uncorrected errors", lower,
               counter},
    MetricInfo{"gpu.row_remap_pending", "", "1 while a row waits for a reset to be replaced, else 0", lower},
    MetricInfo{"gpu.row_remap_failed", "", "1 once a row could not be replaced, else 0", lower},
    MetricInfo{"gpu.retired_pages", "", "Pages of GPU memory taken out of use after errors", lower, counter},
    MetricInfo{"gpu.pcie_receive_bytes_per_second", "B/s", "Received by the GPU over PCIe", neither},
    MetricInfo{"gpu.pcie_transmit_bytes_per_second", "B/s", "Sent by the GPU over PCIe", neither},
    MetricInfo{"gpu.pcie_generation", "", "PCIe generation that the link runs at now", neither},
    MetricInfo{"gpu.pcie_width", "", "PCIe lanes that the link has now", neither},
    MetricInfo{"gpu.pcie_replays", "", "PCIe packets that had to be sent again", lower, counter},
    MetricInfo{"gpu.nvlink_receive_bytes_per_second", "B/s", "Received by the GPU over all NVLinks", neither},
    MetricInfo{"gpu.nvlink_transmit_bytes_per_second", "B/s", "Sent by the GPU over all NVLinks", neither},
    MetricInfo{"gpu.nvlink_links_up", "", "NVLinks that are up", higher},
    MetricInfo{"gpu.nvlink_crc_errors", "", "Checksum errors on all NVLinks", lower, counter},
    MetricInfo{"gpu.nvlink_replays", "", "NVLink packets that had to be sent again", lower, counter},
    MetricInfo{"gpu.nvlink_recoveries", "", "Times that an NVLink had to recover", lower, counter},
};

struct Section {
  std::string_view prefix;  ///< of the names; empty: names without a dot
  std::string_view title;
  std::string_view introduction;
};

constexpr std::array kSections = {
    Section{
        "", "Reported by the workload",
        "Over the workload protocol, or found in its output by `assay exec`. A workload may report any other name as\n"
        "well; it is then recorded and shown without a unit."},
    Section{"workload.", "The workload's processes", "Read from /proc, over every process that the workload started."},
    Section{"host.", "The machine", "Read from /proc. Rates need two readings, so the first one leaves them out."},
    Section{"gpu.", "GPUs", "One series for each GPU, told apart by its UUID, on machines where they can be read."},
};

bool belongs_to(const MetricInfo& metric, const Section& section) {
  if (section.prefix.empty()) return metric.name.find('.') == std::string_view::npos;
  return metric.name.starts_with(section.prefix);
}

std::string_view unit_in_words(std::string_view unit) {
  if (unit.empty()) return "number";
  if (unit == "ratio") return "ratio, 0…1";
  return unit;
}

std::string_view name_of(MetricInfo::Better better) {
  switch (better) {
    case higher: return "higher";
    case lower: return "lower";
    case neither: return "";
  }
  return "";
}

}  // namespace

std::span<const MetricInfo> known_metrics() { return kMetrics; }

std::vector<std::string_view> metrics_shown(int MetricInfo::Places::* where) {
  std::vector<const MetricInfo*> shown;
  for (const auto& metric : kMetrics) {
    if (metric.places.*where > 0) shown.push_back(&metric);
  }
  std::stable_sort(shown.begin(), shown.end(),
                   [where](const MetricInfo* a, const MetricInfo* b) { return a->places.*where < b->places.*where; });
  std::vector<std::string_view> names;
  names.reserve(shown.size());
  for (const auto* metric : shown) names.push_back(metric->name);
  return names;
}

const MetricInfo* find_metric(std::string_view name) {
  // What `epoch` and `sample` events report is recorded under these prefixes.
  for (const std::string_view prefix : {"epoch.", "sample."}) {
    if (name.starts_with(prefix)) name.remove_prefix(prefix.size());
  }
  static const auto by_name = [] {
    std::unordered_map<std::string_view, const MetricInfo*> index;
    for (const auto& metric : kMetrics) index.emplace(metric.name, &metric);
    return index;
  }();
  const auto found = by_name.find(name);
  return found == by_name.end() ? nullptr : found->second;
}

std::string metric_reference() {
  std::string page =
      "# Metrics\n\n"
      "<!-- Made from src/model/metric.cpp by metric_reference(); a test compares the two. -->\n\n"
      "The names that assay knows: their unit, and whether a higher or a lower value is better (blank: neither). "
      "Values are\n"
      "stored in the unit given here; tables show them in a handier one. A ratio is stored as 0…1 and shown as "
      "percent. A counter\n"
      "never falls while the machine is up; everything else is a gauge.\n";
  for (const auto& section : kSections) {
    page += fmt::format("\n## {}\n\n{}\n\n| name | unit | better | meaning |\n|---|---|---|---|\n", section.title,
                        section.introduction);
    for (const auto& metric : kMetrics) {
      if (!belongs_to(metric, section)) continue;
      page += fmt::format(
          "| `{}` | {} | {} | {} |\n", metric.name, unit_in_words(metric.unit), name_of(metric.better),
          metric.kind == counter ? fmt::format("{} (counter)", metric.description) : std::string(metric.description));
    }
  }
  return page;
}

}  // namespace assay
