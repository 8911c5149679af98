#include "telemetry/procfs/device_traffic.h"

#include <algorithm>

#include "base/files.h"
#include "base/text.h"
#include "telemetry/procfs/kept_file.h"

namespace assay {
namespace {

// The unit of /proc/diskstats, whatever the disk's own sector size is.
constexpr double kSectorBytes = 512;

bool is_there(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

std::string attribute(const std::filesystem::path& path) {
  const auto text = read_file(path, 4096);
  return text ? std::string(trim(*text)) : std::string();
}

void skip_words(std::string_view& line, int count) {
  for (; count > 0; --count) take_word(line);
}

}  // namespace

std::optional<Traffic> TrafficRate::update(DeviceCounters counters, SteadyTime now) {
  std::optional<Traffic> rate;
  if (last_time_ && now > *last_time_) {
    const double seconds = seconds_of(now - *last_time_);
    rate.emplace();
    for (const auto& [name, traffic] : counters) {
      const auto before = last_.find(name);
      if (before == last_.end()) continue;
      rate->in += std::max(0.0, traffic.in - before->second.in) / seconds;
      rate->out += std::max(0.0, traffic.out - before->second.out) / seconds;
    }
  }
  last_ = std::move(counters);
  last_time_ = now;
  return rate;
}

DeviceCounters DeviceRates::update(DeviceCounters counters, SteadyTime now) {
  DeviceCounters rates;
  if (last_time_ && now > *last_time_) {
    const double seconds = seconds_of(now - *last_time_);
    for (const auto& [name, traffic] : counters) {
      const auto before = last_.find(name);
      if (before == last_.end()) continue;
      const auto rate = [&](double Traffic::* counter) {
        return std::max(0.0, traffic.*counter - before->second.*counter) / seconds;
      };
      rates[name] = {.in = rate(&Traffic::in),
                     .out = rate(&Traffic::out),
                     .errors = traffic.errors,
                     .drops = traffic.drops,
                     .busy_seconds = rate(&Traffic::busy_seconds)};
    }
  }
  last_ = std::move(counters);
  last_time_ = now;
  return rates;
}

DeviceCounters DiskFilter::counters(std::string_view diskstats) {
  DeviceCounters counters;
  while (!diskstats.empty()) {
    std::string_view line = take_line(diskstats);
    skip_words(line, 2);  // device numbers
    const std::string name(take_word(line));
    skip_words(line, 2);  // reads completed and merged
    const auto sectors_read = number_in(take_word(line));
    skip_words(line, 3);  // time reading, writes completed and merged
    const auto sectors_written = number_in(take_word(line));
    skip_words(line, 2);  // time writing, requests in flight
    const auto busy_ms = number_in(take_word(line));
    if (sectors_read && sectors_written && is_physical(name)) {
      counters[name] = {.in = *sectors_read * kSectorBytes,
                        .out = *sectors_written * kSectorBytes,
                        .busy_seconds = busy_ms.value_or(0) / 1000};
    }
  }
  return counters;
}

bool DiskFilter::is_physical(const std::string& name) {
  const auto known = known_.find(name);
  if (known != known_.end()) return known->second;
  // Partitions are not in this folder; loop, dm, md and zram devices are, but have no hardware behind them. The paths
  // of a multipath NVMe disk have, and are hidden: the disk itself counts.
  std::string file = name;
  std::replace(file.begin(), file.end(), '/', '!');
  const bool physical = is_there(blocks_ / file / "device") && attribute(blocks_ / file / "hidden") != "1";
  return known_[name] = physical;
}

DeviceCounters InterfaceFilter::counters(std::string_view net_dev) {
  DeviceCounters physical;
  DeviceCounters others;
  take_line(net_dev);  // two lines of headings
  take_line(net_dev);
  while (!net_dev.empty()) {
    std::string_view line = take_line(net_dev);
    // The first number may follow the colon without a space, and an alias has a colon in its name.
    const auto colon = line.rfind(':');
    if (colon == std::string_view::npos) continue;
    const std::string name(trim(line.substr(0, colon)));
    line.remove_prefix(colon + 1);
    const auto received = number_in(take_word(line));
    skip_words(line, 1);  // packets
    const auto receive_errors = number_in(take_word(line));
    const auto receive_drops = number_in(take_word(line));
    skip_words(line, 4);  // fifo … multicast
    const auto sent = number_in(take_word(line));
    skip_words(line, 1);
    const auto send_errors = number_in(take_word(line));
    const auto send_drops = number_in(take_word(line));
    if (!received || !sent || name == "lo") continue;
    (is_physical(name) ? physical : others)[name] = {.in = *received,
                                                     .out = *sent,
                                                     .errors = receive_errors.value_or(0) + send_errors.value_or(0),
                                                     .drops = receive_drops.value_or(0) + send_drops.value_or(0)};
  }
  return physical.empty() ? others : physical;
}

bool InterfaceFilter::is_physical(const std::string& name) {
  const auto known = known_.find(name);
  if (known != known_.end()) return known->second;
  // A representor (pf0vf1) shows, on the host's side, the traffic of a virtual function that is counted elsewhere.
  const std::string port = attribute(interfaces_ / name / "phys_port_name");
  const bool representor = port.find("vf") != std::string::npos || port.find("sf") != std::string::npos;
  return known_[name] = is_there(interfaces_ / name / "device") && !representor;
}

}  // namespace assay
