#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>

#include "scheduler/job_request.h"

namespace assay {

/// How long jobs took, by what they were. A job has several keys, from the narrowest to the widest: the hash of its
/// specification and GPU, then model and GPU, then its kind. The narrowest that has a history answers. Keeps the
/// `most_keys` that were used last. A function of the calls in their order: fed again from recorded runs after a start.
class DurationHistory {
 public:
  explicit DurationHistory(std::size_t most_keys = 100'000) : most_keys_(most_keys) {}

  /// A job that ran to its end. Durations that are not positive are passed over.
  void add(std::span<const std::string> keys, Nanos duration);

  /// None where no key has a history. The error is that of predicting one more run, honest about few of them: with one
  /// run it is that of `kUnknownSpread`.
  struct Answer {
    DurationEstimate estimate;
    std::string key;         ///< that answered
    std::uint64_t runs = 0;  ///< that it rests on
  };
  std::optional<Answer> estimate(std::span<const std::string> keys) const;

  std::size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    std::uint64_t runs = 0;
    double mean = 0;     ///< of the logarithm of seconds
    double squares = 0;  ///< sum of squared deviations
    std::list<std::string>::iterator age;
  };

  std::size_t most_keys_;
  std::list<std::string> by_age_;  ///< last used first
  std::unordered_map<std::string, Entry> entries_;
};

/// The estimate for a job: history, else what its specification says (its duration, with the error of a guess), else
/// its time limit, which most jobs stay far below, else ten minutes.
DurationEstimate estimate_duration(const DurationHistory& history, std::span<const std::string> keys,
                                   std::optional<Nanos> specified, std::optional<Nanos> time_limit);

}  // namespace assay
