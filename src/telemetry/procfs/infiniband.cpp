#include "telemetry/procfs/infiniband.h"

#include <array>

#include "telemetry/procfs/folder_names.h"

namespace assay {
namespace {

/// The standard counts data in words of four bytes.
constexpr double kWordBytes = 4;
constexpr std::string_view kActive = "4:";
constexpr std::size_t kMaxPorts = 256;

constexpr std::array kErrorKinds = {"symbol_error",    "link_error_recovery", "link_downed",
                                    "port_rcv_errors", "port_xmit_discards",  "local_link_integrity_errors"};

}  // namespace

InfinibandPorts::InfinibandPorts(const std::filesystem::path& root) {
  for (const auto& device : folder_names(root)) {
    for (const auto& number : folder_names(root / device / "ports")) {
      const auto folder = root / device / "ports" / number;
      const auto counters = folder / "counters";
      if (ports_.size() == kMaxPorts) return;
      Port port{.device = device,
                .number = number,
                .state = KeptFile(folder / "state"),
                .received = KeptNumber(counters / "port_rcv_data"),
                .sent = KeptNumber(counters / "port_xmit_data"),
                .receive_rate = {},
                .send_rate = {},
                .errors = {}};
      for (const char* kind : kErrorKinds) port.errors.emplace_back(kind, KeptNumber(counters / kind));
      ports_.push_back(std::move(port));
    }
  }
}

void InfinibandPorts::read(SteadyTime now, ReadingBuilder& builder) {
  for (auto& port : ports_) {
    const ReadingBuilder::Labels labels{{"device", port.device}, {"port", port.number}};
    if (const auto state = port.state.read()) builder.add("host.infiniband_up", labels, state->starts_with(kActive));
    if (const auto rate = port.receive_rate.update(port.received.read(), now)) {
      builder.add("host.infiniband_receive_bytes_per_second", labels, *rate * kWordBytes);
    }
    if (const auto rate = port.send_rate.update(port.sent.read(), now)) {
      builder.add("host.infiniband_transmit_bytes_per_second", labels, *rate * kWordBytes);
    }
    for (auto& [kind, counter] : port.errors) {
      const auto count = counter.read();
      if (!count) continue;
      ReadingBuilder::Labels with_kind = labels;
      with_kind["kind"] = kind;
      builder.add("host.infiniband_errors", std::move(with_kind), *count);
    }
  }
}

}  // namespace assay
