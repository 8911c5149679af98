#include "launch/job_ending.h"

#include <algorithm>

namespace assay {

void add_to(JobEnding& ending, const JobEnding& other) {
  ending.left_behind.insert(ending.left_behind.end(), other.left_behind.begin(), other.left_behind.end());
  ending.still_running.insert(ending.still_running.end(), other.still_running.begin(), other.still_running.end());
  ending.out_of_memory = ending.out_of_memory || other.out_of_memory;
  if (!ending.usage || !other.usage) return;
  ending.usage->user_time += other.usage->user_time;
  ending.usage->system_time += other.usage->system_time;
  ending.usage->peak_rss_bytes = std::max(ending.usage->peak_rss_bytes, other.usage->peak_rss_bytes);
}

}  // namespace assay
