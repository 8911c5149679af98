#include "launch/launcher.h"

#include "base/text.h"

namespace assay {

std::map<std::string, std::string> environment_with_devices(const Job& job) {
  auto environment = job.environment;
  if (job.devices) environment["CUDA_VISIBLE_DEVICES"] = join(*job.devices, ",");
  return environment;
}

}  // namespace assay
