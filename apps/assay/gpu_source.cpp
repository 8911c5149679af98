#include "gpu_source.h"

#include <chrono>
#include <thread>

#include "base/text.h"
#include "context.h"
#include "program_pages.h"
#include "telemetry/nvml/nvml_source.h"
#include "telemetry/sensor/sensor.h"
#include "telemetry/sensor/sensor_source.h"

namespace assay {

bool has_nvidia_gpu(const fs::path& root) {
  std::error_code code;
  if (fs::exists(root / "dev/nvidiactl", code) || fs::exists(root / "proc/driver/nvidia/version", code)) return true;
  for (const auto& device : fs::directory_iterator(root / "sys/bus/pci/devices", code)) {
    const auto vendor = read_file(device.path() / "vendor", 64);
    const auto kind = read_file(device.path() / "class", 64);
    // 0x0300 and 0x0302: display and 3D controllers; NVIDIA makes bridges and network cards, too.
    if (vendor && kind && trim(*vendor) == "0x10de" && kind->starts_with("0x03")) return true;
  }
  return false;
}

std::unique_ptr<MetricSource> make_gpu_source() {
  SensorOptions sensor;
  sensor.command = {self_path().string(), kSensorArgument};
  return make_sensor_source(std::move(sensor));
}

int sensor_main() {
  // By then NVML is up and every field was read. Nobody waits for the thread: the sensor ends when its channel does.
  std::thread([] {
    std::this_thread::sleep_for(std::chrono::seconds(5));
    release_program_pages();
  }).detach();
  return run_sensor(kSensorChannel, kSensorChannel, *make_nvml_source());
}

}  // namespace assay
