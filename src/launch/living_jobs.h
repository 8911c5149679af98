#pragma once

#include <mutex>
#include <set>
#include <string>
#include <string_view>

namespace assay {

/// The tokens and handles of the jobs that a launcher has, so that none is started or taken up twice within this
/// process. Any thread.
class LivingJobs {
 public:
  bool contains(std::string_view name) const;

 private:
  friend class LivingName;
  /// False if it is there already.
  bool add(const std::string& name);
  void remove(const std::string& name);

  mutable std::mutex mutex_;
  std::set<std::string, std::less<>> names_;
};

/// A name among the living jobs, as long as this object lives: not longer than `jobs`. An empty one is none, and
/// everybody's.
class LivingName {
 public:
  LivingName(LivingJobs& jobs, std::string name);
  LivingName(LivingName&& other) noexcept;
  LivingName& operator=(LivingName&&) = delete;
  ~LivingName();

  /// False: somebody else has it, and keeps it.
  bool ours() const { return ours_; }
  const std::string& text() const { return name_; }

 private:
  LivingJobs& jobs_;
  std::string name_;
  bool ours_;
};

}  // namespace assay
