#include "telemetry/nvml/xid_events.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "telemetry/telemetry_event.h"

namespace assay::nvml {
namespace {

struct XidMeaning {
  unsigned long long xid;
  std::string_view meaning;
};

// Those that say something about the hardware; the rest is the workload's or the driver's affair.
constexpr std::array kMeanings = {
    XidMeaning{13, "error of the graphics engine, mostly the program's fault"},
    XidMeaning{31, "page fault, mostly the program's fault"},
    XidMeaning{43, "the program was stopped"},
    XidMeaning{45, "the program's work was removed"},
    XidMeaning{48, "uncorrected memory error"},
    XidMeaning{61, "breakpoint of the GPU's firmware"},
    XidMeaning{62, "the GPU's firmware halted"},
    XidMeaning{63, "a row or page of memory was remapped"},
    XidMeaning{64, "remapping memory failed"},
    XidMeaning{74, "NVLink error"},
    XidMeaning{79, "the GPU has fallen off the bus"},
    XidMeaning{92, "many corrected memory errors"},
    XidMeaning{94, "contained memory error"},
    XidMeaning{95, "uncontained memory error"},
    XidMeaning{119, "the GPU's system processor does not answer"},
    XidMeaning{120, "error of the GPU's system processor"},
};

std::string message_of(unsigned long long xid) {
  const auto found =
      std::find_if(kMeanings.begin(), kMeanings.end(), [&](const XidMeaning& known) { return known.xid == xid; });
  if (found == kMeanings.end()) return fmt::format("XID {}", xid);
  return fmt::format("XID {}: {}", xid, found->meaning);
}

}  // namespace

std::unique_ptr<XidEvents> XidEvents::make(const Api& api, std::vector<GpuHandle> gpus) {
  if (api.event_set_create == nullptr || api.event_set_free == nullptr || api.register_events == nullptr ||
      api.event_set_wait == nullptr) {
    return nullptr;
  }
  EventSet set = nullptr;
  if (api.event_set_create(&set) != kSuccess) return nullptr;
  std::unique_ptr<XidEvents> events(new XidEvents(api, set, std::move(gpus)));
  for (const auto& gpu : events->gpus_) {
    // Instances are reported through their GPU. A GPU that has no events is one of which we learn nothing.
    if (gpu.parent == nullptr) api.register_events(gpu.device, kEventXid, set);
  }
  return events;
}

XidEvents::~XidEvents() { api_.event_set_free(set_); }

void XidEvents::collect(WallTime wall, std::vector<TelemetryEvent>& events) {
  for (int i = 0; i < kMostAtOnce; ++i) {
    EventData data{};
    if (api_.event_set_wait(set_, &data, 0) != kSuccess) return;
    if ((data.type & kEventXid) == 0) continue;
    const auto gpu =
        std::find_if(gpus_.begin(), gpus_.end(), [&](const GpuHandle& known) { return known.device == data.device; });
    TelemetryEvent event{.time = wall,
                         .kind = "xid",
                         .about = gpu != gpus_.end() ? gpu->uuid : std::string(),
                         .message = message_of(data.data),
                         .values = {{"xid", static_cast<double>(data.data)}}};
    if (data.gpu_instance != kNoInstance) event.values["gpu_instance"] = data.gpu_instance;
    events.push_back(std::move(event));
  }
}

}  // namespace assay::nvml
