#include "telemetry/procfs/temperature_sensors.h"

#include <fmt/format.h>

#include <set>
#include <utility>

#include "base/files.h"
#include "base/text.h"
#include "telemetry/procfs/folder_names.h"

namespace assay {
namespace {

constexpr std::size_t kMaxSensors = 512;
constexpr std::string_view kInput = "_input";

std::string text_in(const std::filesystem::path& file) {
  const auto text = read_file(file, 4096);
  return text ? printable(trim(*text)) : std::string();
}

}  // namespace

TemperatureSensors::TemperatureSensors(const std::filesystem::path& root) {
  std::set<std::pair<std::string, std::string>> taken;
  for (const auto& folder : folder_names(root)) {
    std::string chip = text_in(root / folder / "name");
    if (chip.empty()) chip = folder;
    for (const auto& file : folder_names(root / folder)) {
      if (!file.starts_with("temp") || !file.ends_with(kInput) || sensors_.size() == kMaxSensors) continue;
      const std::string stem = file.substr(0, file.size() - kInput.size());
      std::string name = text_in(root / folder / (stem + "_label"));
      if (name.empty()) name = stem;
      // Eight disks are eight chips of one name.
      if (!taken.emplace(chip, name).second) name = fmt::format("{} {}", folder, name);
      taken.emplace(chip, name);
      sensors_.push_back({.chip = chip, .name = name, .input = KeptNumber(root / folder / file)});
    }
  }
}

void TemperatureSensors::read(ReadingBuilder& builder) {
  for (auto& sensor : sensors_) {
    if (const auto millidegrees = sensor.input.read()) {
      builder.add("host.temperature_c", {{"chip", sensor.chip}, {"sensor", sensor.name}}, *millidegrees / 1000);
    }
  }
}

}  // namespace assay
