#include "launch/launcher.h"

#include <algorithm>
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

void add_to(JobEnding& ending, const JobEnding& other) {
  ending.left_behind.insert(ending.left_behind.end(), other.left_behind.begin(), other.left_behind.end());
  ending.still_running.insert(ending.still_running.end(), other.still_running.begin(), other.still_running.end());
  ending.out_of_memory = ending.out_of_memory || other.out_of_memory;
  if (!ending.usage || !other.usage) return;
  ending.usage->user_time += other.usage->user_time;
  ending.usage->system_time += other.usage->system_time;
  ending.usage->peak_rss_bytes = std::max(ending.usage->peak_rss_bytes, other.usage->peak_rss_bytes);
}

bool needs_engine(const Job& job) { return !job.arguments.empty() && job.arguments.front() == kEngineOfPlace; }

}  // namespace assay
