#pragma once

#include <cstddef>

namespace assay {

/// The usual figures at once. `summarise` makes it.
struct Summary {
  std::size_t count = 0;  ///< of finite values
  std::size_t non_finite = 0;
  double mean = 0;
  double standard_deviation = 0;
  double coefficient_of_variation = 0;
  double min = 0;
  double p50 = 0;  ///< as by percentiles_nearest; so are the others
  double p90 = 0;
  double p95 = 0;
  double p99 = 0;
  double p999 = 0;
  double max = 0;
};

}  // namespace assay
