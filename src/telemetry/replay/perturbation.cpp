#include "telemetry/replay/perturbation.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/hash.h"
#include "base/random.h"

namespace assay {
namespace {

enum class Kind { activity, power, clock, temperature };

struct Rule {
  std::string_view metric;
  Kind kind;
};

// What is not here is a counter, a size or a setting, and the same for all GPUs of a model.
constexpr std::array kRules = {
    Rule{"gpu.util", Kind::activity},
    Rule{"gpu.memory_util", Kind::activity},
    Rule{"gpu.sm_active", Kind::activity},
    Rule{"gpu.sm_occupancy", Kind::activity},
    Rule{"gpu.tensor_active", Kind::activity},
    Rule{"gpu.dram_active", Kind::activity},
    Rule{"gpu.fp16_active", Kind::activity},
    Rule{"gpu.fp32_active", Kind::activity},
    Rule{"gpu.fp64_active", Kind::activity},
    Rule{"gpu.power_w", Kind::power},
    Rule{"gpu.sm_clock_mhz", Kind::clock},
    Rule{"gpu.temperature_c", Kind::temperature},
    Rule{"gpu.memory_temperature_c", Kind::temperature},
};

}  // namespace

GpuCharacter character_of(std::uint64_t seed, std::string_view uuid) {
  Random random(seed, fmt::format("replay {}", uuid));
  GpuCharacter character;
  character.activity_gain = random.uniform(0.96, 1.04);
  character.power_gain = random.uniform(0.95, 1.05);
  character.clock_gain = random.uniform(0.99, 1.01);
  character.temperature_offset = random.uniform(-4, 4);
  return character;
}

std::string identity_of(std::uint64_t seed, std::string_view uuid) {
  const std::string digits = content_hash(fmt::format("{} {}", seed, uuid));
  return fmt::format("{}-{}-{}-{}-{}-{}", uuid.starts_with("MIG-") ? "MIG" : "GPU", digits.substr(0, 8),
                     digits.substr(8, 4), digits.substr(12, 4), digits.substr(16, 4), digits.substr(20, 12));
}

double in_character(const GpuCharacter& character, std::string_view metric, double value) {
  const auto* const rule =
      std::find_if(kRules.begin(), kRules.end(), [&](const Rule& known) { return known.metric == metric; });
  if (rule == kRules.end()) return value;
  switch (rule->kind) {
    case Kind::activity: return std::clamp(value * character.activity_gain, 0.0, 1.0);
    case Kind::power: return value * character.power_gain;
    case Kind::clock: return value * character.clock_gain;
    case Kind::temperature: return value + character.temperature_offset;
  }
  return value;
}

}  // namespace assay
