#pragma once

#include <cstdint>
#include <optional>

#include "data/dataset.h"

namespace assay::engine {

/// The first validation samples of a data set, in their order, each on exactly one rank: rank r of n has the r-th of n
/// parts of (nearly) equal size. Which samples are read does not depend on the number of ranks or rows. No threads; for
/// one caller at a time.
class EvaluationReader {
 public:
  struct Options {
    double validation_share = 0.1;
    std::int64_t rank = 0;
    std::int64_t ranks = 1;
    std::int64_t rows = 32;
    bool pinned = false;
  };
  /// `dataset` must outlive the reader.
  EvaluationReader(const Dataset& dataset, const Options& options);

  std::int64_t samples() const { return samples_; }  ///< of all ranks together
  /// Up to `rows` samples, the last batch fewer; nothing at the end. The batch is overwritten by the following call: a
  /// caller that copies it to a device asynchronously waits for the copy first.
  std::optional<Batch> next();
  /// The next batch is the first one again, of as many samples as there are, but at most `most` on all ranks together.
  void rewind(std::int64_t most);

 private:
  const Dataset& dataset_;
  const std::int64_t rank_;
  const std::int64_t ranks_;
  const std::int64_t rows_;
  const std::int64_t samples_;
  std::int64_t end_ = 0;
  std::int64_t next_ = 0;
  Batch buffer_;
};

}  // namespace assay::engine
