#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "telemetry/procfs/kept_counter.h"
#include "telemetry/reading_builder.h"

namespace assay {

/// What the cgroup (version 2) of this process uses and may use. Nothing is read where there is none.
class OwnCgroup {
 public:
  /// `root` is where proc/ and sys/ are.
  explicit OwnCgroup(const std::filesystem::path& root);
  void read(SteadyTime now, ReadingBuilder& builder);

 private:
  struct Limits {
    KeptNumber memory;
    KeptFile cpu;
  };

  void read_cpu(SteadyTime now, ReadingBuilder& builder);

  std::optional<KeptNumber> memory_used_;
  std::optional<KeptFile> cpu_stat_;
  std::vector<Limits> limits_;  ///< from our own group up to the root: any of them may be the tightest
  CounterRate cpu_rate_;
};

}  // namespace assay
