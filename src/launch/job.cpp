#include "launch/job.h"

#include <utility>

#include "base/text.h"

namespace assay {

std::map<std::string, std::string> environment_with_devices(const Job& job) {
  auto environment = job.environment;
  if (job.devices) environment["CUDA_VISIBLE_DEVICES"] = join(*job.devices, ",");
  return environment;
}

Job with_paths_of_place(Job job, const PlacePaths& paths) {
  const auto expand = [&](std::string& text) {
    for (const auto& [name, path] :
         {std::pair(kAssayOfPlace, &paths.assay), {kEngineOfPlace, &paths.engine}, {kScratchOfPlace, &paths.scratch}}) {
      if (path->empty() || !text.starts_with(name)) continue;
      text.replace(0, name.size(), *path);
      return;
    }
  };
  for (auto& argument : job.arguments) expand(argument);
  for (auto& [name, value] : job.environment) expand(value);
  return job;
}

bool needs_engine(const Job& job) { return !job.arguments.empty() && job.arguments.front() == kEngineOfPlace; }

}  // namespace assay
