#pragma once

#include <cstdint>
#include <vector>

#include "base/random.h"
#include "data/dataset.h"

namespace assay::engine {

/// Images that cost little more than copying them: each class has a pattern of 7 × 7 coloured fields with brightnesses
/// 0 … 127, to which every image adds noise of 0 … 127, a piece of a bank of random bytes that starts somewhere else
/// for each image. Sample i belongs to class i modulo `classes`.
class SyntheticImages : public Dataset {
 public:
  struct Options {
    std::uint64_t seed = 1;
    std::int64_t samples = 10'000;
    std::int64_t classes = 1000;
    std::int64_t image_size = 224;
  };
  explicit SyntheticImages(const Options& options);

  const DataShape& shape() const override { return shape_; }
  std::int64_t samples() const override { return samples_; }
  void fill(std::span<const std::int64_t> indices, Batch& batch) const override;
  std::string description() const override;

 private:
  void paint(std::int64_t label, const std::uint8_t* noise, std::span<std::uint8_t> pixels) const;

  DataShape shape_;
  std::int64_t samples_;
  Random random_;
  std::vector<std::uint8_t> patterns_;  // (classes, 7, 7, 3)
  std::vector<std::uint8_t> noise_;
};

}  // namespace assay::engine
