#include "launch/living_jobs.h"

#include <utility>

namespace assay {

bool LivingJobs::contains(std::string_view name) const {
  const std::lock_guard lock(mutex_);
  return names_.contains(name);
}

bool LivingJobs::add(const std::string& name) {
  const std::lock_guard lock(mutex_);
  return names_.insert(name).second;
}

void LivingJobs::remove(const std::string& name) {
  const std::lock_guard lock(mutex_);
  names_.erase(name);
}

LivingName::LivingName(LivingJobs& jobs, std::string name)
    : jobs_(jobs), name_(std::move(name)), ours_(name_.empty() || jobs_.add(name_)) {}

LivingName::LivingName(LivingName&& other) noexcept
    : jobs_(other.jobs_), name_(std::exchange(other.name_, {})), ours_(other.ours_) {}

LivingName::~LivingName() {
  if (ours_ && !name_.empty()) jobs_.remove(name_);
}

}  // namespace assay
