#include <sys/statvfs.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "telemetry/procfs/device_traffic.h"
#include "telemetry/procfs/infiniband.h"
#include "telemetry/procfs/kept_file.h"
#include "telemetry/procfs/own_cgroup.h"
#include "telemetry/procfs/procfs_source.h"
#include "telemetry/procfs/temperature_sensors.h"
#include "telemetry/reading_builder.h"

namespace assay {
namespace {

/// What changes slowly, or costs a request to a chip, is read this often.
constexpr Nanos kCalmPeriod = std::chrono::seconds(10);
constexpr std::size_t kMaxFileSystems = 64;

/// Asking any other kind could block: it may be on the network.
constexpr std::array kLocalFileSystems = {"ext2", "ext3", "ext4", "xfs", "btrfs", "zfs", "f2fs", "overlay"};

class HostDetailsSource final : public MetricSource {
 public:
  explicit HostDetailsSource(const ProcfsOptions& options)
      : root_(options.root),
        clock_(options.clock != nullptr ? *options.clock : system_clock_),
        stat_(root_ / "proc/stat"),
        diskstats_(root_ / "proc/diskstats"),
        net_dev_(root_ / "proc/net/dev"),
        mounts_(root_ / "proc/self/mounts"),
        disks_(root_ / "sys/block"),
        interfaces_(root_ / "sys/class/net"),
        infiniband_(root_ / "sys/class/infiniband"),
        sensors_(root_ / "sys/class/hwmon"),
        cgroup_(root_) {}

  std::string_view name() const override { return "procfs details"; }
  Result<Reading> read(SteadyTime) override { return read_now(false); }
  Result<Reading> read_everything(SteadyTime) override { return read_now(true); }

 private:
  struct CoreTime {
    double total = 0;
    double idle = 0;
  };

  Reading read_now(bool everything);
  void read_cores(ReadingBuilder& builder);
  void read_disks(SteadyTime now, ReadingBuilder& builder);
  void read_interfaces(SteadyTime now, ReadingBuilder& builder);
  void read_file_systems(ReadingBuilder& builder);

  std::filesystem::path root_;
  SystemClock system_clock_;
  const Clock& clock_;
  KeptFile stat_, diskstats_, net_dev_, mounts_;
  DiskFilter disks_;
  InterfaceFilter interfaces_;
  DeviceRates disk_rates_, interface_rates_;
  std::map<std::string, CoreTime, std::less<>> cores_;
  InfinibandPorts infiniband_;
  TemperatureSensors sensors_;
  OwnCgroup cgroup_;
  std::optional<SteadyTime> last_calm_;
};

Reading HostDetailsSource::read_now(bool everything) {
  const SteadyTime now = clock_.now();
  ReadingBuilder builder;
  read_cores(builder);
  read_disks(now, builder);
  read_interfaces(now, builder);
  infiniband_.read(now, builder);
  cgroup_.read(now, builder);
  if (everything || !last_calm_ || now - *last_calm_ >= kCalmPeriod) {
    last_calm_ = now;
    sensors_.read(builder);
    read_file_systems(builder);
  }
  return builder.finish();
}

void HostDetailsSource::read_cores(ReadingBuilder& builder) {
  auto text = stat_.read();
  if (!text) return builder.missing("host.core_util");
  while (!text->empty()) {
    std::string_view line = take_line(*text);
    const std::string_view name = take_word(line);
    if (!name.starts_with("cpu")) break;  // the CPUs stand first
    if (name == "cpu") continue;
    // user, nice, system, idle, iowait, irq, softirq, steal
    CoreTime now;
    for (int column = 0; column < 8; ++column) {
      const double ticks = number_in(take_word(line)).value_or(0);
      now.total += ticks;
      if (column == 3 || column == 4) now.idle += ticks;
    }
    const std::string core(name.substr(3));
    const auto [entry, is_new] = cores_.try_emplace(core, now);
    const CoreTime last = std::exchange(entry->second, now);
    if (is_new || now.total <= last.total) continue;
    const double idle = (now.idle - last.idle) / (now.total - last.total);
    builder.add("host.core_util", {{"core", core}}, std::clamp(1 - idle, 0.0, 1.0));
  }
}

void HostDetailsSource::read_disks(SteadyTime now, ReadingBuilder& builder) {
  const auto text = diskstats_.read();
  if (!text) return builder.missing("host.device_read_bytes_per_second");
  for (const auto& [device, rate] : disk_rates_.update(disks_.counters(*text), now)) {
    const ReadingBuilder::Labels labels{{"device", device}};
    builder.add("host.device_read_bytes_per_second", labels, rate.in);
    builder.add("host.device_write_bytes_per_second", labels, rate.out);
    builder.add("host.device_busy", labels, std::min(rate.busy_seconds, 1.0));
  }
}

void HostDetailsSource::read_interfaces(SteadyTime now, ReadingBuilder& builder) {
  const auto text = net_dev_.read();
  if (!text) return builder.missing("host.interface_receive_bytes_per_second");
  for (const auto& [interface, rate] : interface_rates_.update(interfaces_.counters(*text), now)) {
    const ReadingBuilder::Labels labels{{"interface", interface}};
    builder.add("host.interface_receive_bytes_per_second", labels, rate.in);
    builder.add("host.interface_transmit_bytes_per_second", labels, rate.out);
    builder.add("host.interface_errors", labels, rate.errors);
    builder.add("host.interface_drops", labels, rate.drops);
  }
}

void HostDetailsSource::read_file_systems(ReadingBuilder& builder) {
  auto text = mounts_.read().value_or(std::string_view());
  std::set<std::string, std::less<>> devices;
  while (!text.empty() && devices.size() < kMaxFileSystems) {
    std::string_view line = take_line(text);
    const std::string_view device = take_word(line);
    const std::string mount(take_word(line));
    const std::string_view kind = take_word(line);
    const bool local = std::find(kLocalFileSystems.begin(), kLocalFileSystems.end(), kind) != kLocalFileSystems.end();
    // A device that is mounted in several places is full in all of them.
    if (!local || !devices.emplace(device).second) continue;
    struct statvfs status{};
    if (::statvfs((root_ / mount.substr(1)).c_str(), &status) != 0) continue;
    const auto block = static_cast<double>(status.f_frsize);
    builder.add("host.filesystem_used_bytes", {{"mount", mount}},
                block * static_cast<double>(status.f_blocks - status.f_bfree));
    builder.add("host.filesystem_available_bytes", {{"mount", mount}}, block * static_cast<double>(status.f_bavail));
  }
}

}  // namespace

std::unique_ptr<MetricSource> make_host_details_source(const ProcfsOptions& options) {
  return std::make_unique<HostDetailsSource>(options);
}

}  // namespace assay
