#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "loadgen/arrivals.h"
#include "loadgen/sample_order.h"

namespace assay {

// The order of samples and the arrival times of MLPerf's LoadGen for given seeds, bit for bit as its builds with
// libstdc++ give them: what makes a run of ours comparable to one of LoadGen's, request by request. The generator
// (mt19937) is fixed by the C++ standard; the distributions on top are not, so they are written out here.

struct MlperfSeeds {
  // Those of the rounds v5.1 and later.
  std::uint64_t qsl = 1780908523862526354u;
  std::uint64_t sample = 14771362308971278857u;
  std::uint64_t schedule = 18209322760996052031u;
};

/// Arrivals of the Server scenario: the first at 0, gaps exponential.
class MlperfServerArrivals final : public ArrivalProcess {
 public:
  MlperfServerArrivals(double per_second, std::uint64_t schedule_seed);
  Nanos next() noexcept override;

 private:
  std::mt19937 random_;
  double rate_;
  std::int64_t at_ns_ = 0;
};

struct MlperfOrderOptions {
  Scenario scenario = Scenario::server;   ///< single_stream, multi_stream, server or offline
  std::uint32_t performance_samples = 1;  ///< performance_sample_count: how many different ones are asked for
  std::uint32_t samples_per_query = 1;    ///< of multi_stream
  std::uint64_t min_queries = 1;  ///< min_query_count: it decides how many random numbers are used up beforehand
  bool equal_issue = false;       ///< sample_concatenate_permutation: whole permutations, one after the other
  MlperfSeeds seeds;
};

/// In multi_stream, the samples of one query follow each other.
class MlperfSampleOrder final : public SampleOrder {
 public:
  explicit MlperfSampleOrder(const MlperfOrderOptions& options);
  std::uint32_t next() noexcept override;

 private:
  std::uint32_t start_of_query() noexcept;

  MlperfOrderOptions options_;
  std::mt19937 random_;
  std::mt19937 before_permutations_;   ///< where they begin again once as many as LoadGen prepares are used up
  std::vector<std::uint32_t> loaded_;  ///< the samples in the order in which LoadGen loads them
  std::vector<std::uint32_t> permuted_;
  std::uint64_t drawn_ = 0;
  std::uint32_t in_query_ = 0;
  std::uint32_t query_start_ = 0;
};

}  // namespace assay
