#include "watch/rule_view.h"

#include <utility>

namespace assay {
namespace {

constexpr std::array kFields = {
    std::pair{std::string_view("gpu.util"), GpuField::util},
    std::pair{std::string_view("gpu.sm_active"), GpuField::sm_active},
    std::pair{std::string_view("gpu.tensor_active"), GpuField::tensor_active},
    std::pair{std::string_view("gpu.memory_used_bytes"), GpuField::memory_used_bytes},
    std::pair{std::string_view("gpu.memory_total_bytes"), GpuField::memory_total_bytes},
    std::pair{std::string_view("gpu.temperature_c"), GpuField::temperature_c},
    std::pair{std::string_view("gpu.memory_temperature_c"), GpuField::memory_temperature_c},
    std::pair{std::string_view("gpu.power_w"), GpuField::power_w},
    std::pair{std::string_view("gpu.power_limit_w"), GpuField::power_limit_w},
    std::pair{std::string_view("gpu.sm_clock_mhz"), GpuField::sm_clock_mhz},
    std::pair{std::string_view("gpu.sm_clock_max_mhz"), GpuField::sm_clock_max_mhz},
    std::pair{std::string_view("gpu.row_remap_pending"), GpuField::row_remap_pending},
    std::pair{std::string_view("gpu.row_remap_failed"), GpuField::row_remap_failed},
};

// Those of src/telemetry/nvml/gpu_fields.h that slow a GPU on its own account.
constexpr std::array kThrottleReasons = {
    std::pair{std::string_view("sw_thermal"), GpuField::throttle_thermal},
    std::pair{std::string_view("hw_thermal"), GpuField::throttle_thermal},
    std::pair{std::string_view("sw_power"), GpuField::throttle_power},
    std::pair{std::string_view("hw_slowdown"), GpuField::throttle_hardware},
    std::pair{std::string_view("power_brake"), GpuField::throttle_hardware},
};

template <typename Table>
std::optional<GpuField> look_up(const Table& table, std::string_view name) {
  for (const auto& [known, field] : table) {
    if (known == name) return field;
  }
  return std::nullopt;
}

}  // namespace

std::optional<GpuField> gpu_field_of(std::string_view metric, const std::map<std::string, std::string>& labels) {
  if (!labels.contains("gpu")) return std::nullopt;
  if (metric != "gpu.throttle") return look_up(kFields, metric);
  const auto reason = labels.find("reason");
  return reason == labels.end() ? std::nullopt : look_up(kThrottleReasons, reason->second);
}

void GpuView::put(GpuField field, double number) {
  double& kept = value[static_cast<std::size_t>(field)];
  kept = std::fmax(kept, number);
}

}  // namespace assay
