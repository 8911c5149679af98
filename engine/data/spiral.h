#pragma once

#include "base/random.h"
#include "data/dataset.h"

namespace assay::engine {

/// Points on spiral arms around the origin; the arm is the class.
///
/// At a share u = 0 … 1 of its way, drawn evenly, an arm is 0.5 + 3.5·u away from the origin and has turned by
/// 1.25·u turns; arm k of n starts k/n of a turn further. Gaussian noise of standard deviation `noise` is added to both
/// coordinates. Neighbouring windings are 2.8/n apart: with two arms and the usual noise of 0.1 that is 14 standard
/// deviations, so the classes are separable but for one point in a million, and the arms start 10 apart.
///
/// Sample i belongs to arm i modulo n: every part of the index range has its share of each class.
class Spiral : public Dataset {
 public:
  struct Options {
    std::uint64_t seed = 1;
    std::int64_t samples = 10'000;
    std::int64_t arms = 2;
    double noise = 0.1;
  };
  explicit Spiral(const Options& options);

  const DataShape& shape() const override { return shape_; }
  std::int64_t samples() const override { return options_.samples; }
  void fill(std::span<const std::int64_t> indices, Batch& batch) const override;
  std::string description() const override;

 private:
  Options options_;
  DataShape shape_;
  Random random_;
};

}  // namespace assay::engine
