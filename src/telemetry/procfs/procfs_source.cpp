#include "telemetry/procfs/procfs_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "telemetry/procfs/device_traffic.h"
#include "telemetry/procfs/kept_file.h"
#include "telemetry/reading_builder.h"

namespace assay {
namespace {

constexpr double kKibibyte = 1024;

class ProcfsSource final : public MetricSource {
 public:
  explicit ProcfsSource(const ProcfsOptions& options)
      : root_(options.root),
        clock_(options.clock != nullptr ? *options.clock : system_clock_),
        stat_(root_ / "proc/stat"),
        meminfo_(root_ / "proc/meminfo"),
        loadavg_(root_ / "proc/loadavg"),
        diskstats_(root_ / "proc/diskstats"),
        net_dev_(root_ / "proc/net/dev"),
        disks_(root_ / "sys/block"),
        interfaces_(root_ / "sys/class/net") {}

  std::string_view name() const override { return "procfs"; }
  Result<Reading> read(SteadyTime deadline) override;

 private:
  /// The machine's CPU time since boot, in ticks over all CPUs.
  struct CpuTime {
    double total = 0;
    double idle = 0;
  };

  void read_cpu(ReadingBuilder& builder);
  void read_memory(ReadingBuilder& builder);
  void read_load(ReadingBuilder& builder);
  void read_disks(ReadingBuilder& builder);
  void read_network(ReadingBuilder& builder);

  std::filesystem::path root_;
  SystemClock system_clock_;
  const Clock& clock_;
  KeptFile stat_, meminfo_, loadavg_, diskstats_, net_dev_;
  std::optional<CpuTime> last_cpu_;
  DiskFilter disks_;
  InterfaceFilter interfaces_;
  TrafficRate disk_rate_, network_rate_;
};

Result<Reading> ProcfsSource::read(SteadyTime) {
  ReadingBuilder builder;
  read_cpu(builder);
  read_memory(builder);
  read_load(builder);
  read_disks(builder);
  read_network(builder);
  // The first reading of CPU, disks and network has no rates; memory is always there on a machine with a /proc.
  if (builder.empty()) {
    return Error{.kind = ErrorKind::unsupported,
                 .message = fmt::format("there is no readable proc file system at '{}'", (root_ / "proc").string())};
  }
  return builder.finish();
}

void ProcfsSource::read_cpu(ReadingBuilder& builder) {
  // user, nice, system, idle, iowait, irq, softirq, steal. Guest time is part of user time already.
  std::array<double, 8> ticks{};
  bool complete = false;
  if (auto text = stat_.read()) {
    std::string_view line = take_line(*text);
    complete = take_word(line) == "cpu";
    for (double& count : ticks) {
      const auto number = number_in(take_word(line));
      complete = complete && number;
      count = number.value_or(0);
    }
  }
  if (!complete) return builder.missing("host.cpu_util");
  CpuTime now{.total = 0, .idle = ticks[3] + ticks[4]};
  for (const double count : ticks) now.total += count;
  const auto last = std::exchange(last_cpu_, now);
  if (!last || now.total <= last->total) return;
  // The kernel lets idle and iowait step back by a little now and then.
  builder.add("host.cpu_util", std::clamp(1 - (now.idle - last->idle) / (now.total - last->total), 0.0, 1.0));
}

void ProcfsSource::read_memory(ReadingBuilder& builder) {
  std::optional<double> total, available, swap_total, swap_free;
  auto text = meminfo_.read().value_or(std::string_view());
  while (!text.empty()) {
    std::string_view line = take_line(text);
    const std::string_view name = take_word(line);
    auto* wanted = name == "MemTotal:"       ? &total
                   : name == "MemAvailable:" ? &available
                   : name == "SwapTotal:"    ? &swap_total
                   : name == "SwapFree:"     ? &swap_free
                                             : nullptr;
    if (wanted == nullptr) continue;
    if (const auto kibibytes = number_in(take_word(line))) *wanted = *kibibytes * kKibibyte;
  }
  const auto less = [](std::optional<double> whole, std::optional<double> part) {
    return whole && part ? std::optional(*whole - *part) : std::nullopt;
  };
  builder.add_or_missing("host.memory_used_bytes", less(total, available));
  builder.add_or_missing("host.memory_available_bytes", available);
  builder.add_or_missing("host.swap_used_bytes", less(swap_total, swap_free));
}

void ProcfsSource::read_load(ReadingBuilder& builder) {
  auto text = loadavg_.read().value_or(std::string_view());
  builder.add_or_missing("host.load1", number_in(take_word(text)));
}

void ProcfsSource::read_disks(ReadingBuilder& builder) {
  const SteadyTime now = clock_.now();
  const auto text = diskstats_.read();
  if (!text) {
    builder.missing("host.disk_read_bytes_per_second");
    builder.missing("host.disk_write_bytes_per_second");
    return;
  }
  if (const auto rate = disk_rate_.update(disks_.counters(*text), now)) {
    builder.add("host.disk_read_bytes_per_second", rate->in);
    builder.add("host.disk_write_bytes_per_second", rate->out);
  }
}

void ProcfsSource::read_network(ReadingBuilder& builder) {
  const SteadyTime now = clock_.now();
  const auto text = net_dev_.read();
  if (!text) {
    builder.missing("host.net_receive_bytes_per_second");
    builder.missing("host.net_transmit_bytes_per_second");
    return;
  }
  if (const auto rate = network_rate_.update(interfaces_.counters(*text), now)) {
    builder.add("host.net_receive_bytes_per_second", rate->in);
    builder.add("host.net_transmit_bytes_per_second", rate->out);
  }
}

}  // namespace

std::unique_ptr<MetricSource> make_procfs_source(const ProcfsOptions& options) {
  return std::make_unique<ProcfsSource>(options);
}

}  // namespace assay
