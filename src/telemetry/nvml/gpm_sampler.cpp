#include "telemetry/nvml/gpm_sampler.h"

#include <algorithm>
#include <utility>

namespace assay::nvml {
namespace {

constexpr double kMebibyte = 1024 * 1024;
/// The hardware renews its counters every 100 ms; two samples that are closer give nonsense.
constexpr Nanos kShortestInterval = std::chrono::milliseconds(110);

struct GpmField {
  unsigned id;
  Field field;
  double scale;
  bool is_ratio;
};

constexpr std::array kGpmFields = {
    GpmField{kGpmSmUtil, Field::sm_active, 0.01, true},
    GpmField{kGpmSmOccupancy, Field::sm_occupancy, 0.01, true},
    GpmField{kGpmAnyTensor, Field::tensor_active, 0.01, true},
    GpmField{kGpmDram, Field::dram_active, 0.01, true},
    GpmField{kGpmFp64, Field::fp64_active, 0.01, true},
    GpmField{kGpmFp32, Field::fp32_active, 0.01, true},
    GpmField{kGpmFp16, Field::fp16_active, 0.01, true},
    GpmField{kGpmPcieReceive, Field::pcie_receive, kMebibyte, false},
    GpmField{kGpmPcieTransmit, Field::pcie_transmit, kMebibyte, false},
    GpmField{kGpmNvlinkReceive, Field::nvlink_receive, kMebibyte, false},
    GpmField{kGpmNvlinkTransmit, Field::nvlink_transmit, kMebibyte, false},
};

}  // namespace

std::unique_ptr<GpmSampler> GpmSampler::make(const Api& api, Device device, Device parent, unsigned gpu_instance) {
  const bool is_mig = parent != nullptr;
  const Device whole = is_mig ? parent : device;
  if (api.gpm_support == nullptr || api.gpm_alloc == nullptr || api.gpm_free == nullptr || api.gpm_metrics == nullptr ||
      (is_mig ? api.gpm_mig_get == nullptr : api.gpm_get == nullptr)) {
    return nullptr;
  }
  GpmSupport support{.version = kGpmSupportVersion, .is_supported = 0};
  if (api.gpm_support(whole, &support) != kSuccess || support.is_supported == 0) return nullptr;
  std::array<GpmSample, 2> samples{};
  if (api.gpm_alloc(&samples[0]) != kSuccess) return nullptr;
  if (api.gpm_alloc(&samples[1]) != kSuccess) {
    api.gpm_free(samples[0]);
    return nullptr;
  }
  return std::unique_ptr<GpmSampler>(new GpmSampler(api, whole, is_mig ? gpu_instance : kNoInstance, samples));
}

GpmSampler::~GpmSampler() {
  for (const GpmSample sample : samples_) api_.gpm_free(sample);
}

std::vector<GpmSampler::Ratio> GpmSampler::read(SteadyTime now, Code& code) {
  code = kSuccess;
  if (last_ && now - *last_ < kShortestInterval) return {};
  const GpmSample newer = samples_[1];
  std::swap(samples_[0], samples_[1]);
  // The sample that was the newer one is now the older; the other is filled anew.
  code = gpu_instance_ == kNoInstance ? api_.gpm_get(device_, samples_[1])
                                      : api_.gpm_mig_get(device_, gpu_instance_, samples_[1]);
  if (code != kSuccess) {
    last_.reset();
    return {};
  }
  const bool has_older = std::exchange(last_, now).has_value();
  if (!has_older) return {};
  GpmMetricsGet request;
  request.version = kGpmMetricsGetVersion;
  request.count = kGpmFields.size();
  request.first = newer;
  request.second = samples_[1];
  for (std::size_t i = 0; i < kGpmFields.size(); ++i) request.metrics[i] = {.id = kGpmFields[i].id, .code = kUnknown};
  code = api_.gpm_metrics(&request);
  std::vector<Ratio> ratios;
  if (code != kSuccess) return ratios;
  for (std::size_t i = 0; i < kGpmFields.size(); ++i) {
    const auto& [id, field, scale, is_ratio] = kGpmFields[i];
    const double value = request.metrics[i].value * scale;
    // The negation also catches NaN, which the driver gives where the clocks stood still.
    if (request.metrics[i].code != kSuccess || !(value >= 0)) continue;
    ratios.push_back({field, is_ratio ? std::min(value, 1.0) : value});
  }
  return ratios;
}

}  // namespace assay::nvml
