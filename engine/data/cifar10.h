#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "formats/mapped_file.h"

namespace assay::engine {

/// The binary version of CIFAR-10: a folder with data_batch_1.bin … data_batch_5.bin and test_batch.bin, or the folder
/// above it, as the archive unpacks (cifar-10-batches-bin). A record is a label 0 … 9 and 3 × 32 × 32 bytes: the red
/// plane, the green, the blue. Files with fewer records than the original's 10,000 are fine.
/// The test file is the validation part, whatever share a specification asks for.
class Cifar10 : public Dataset {
 public:
  /// `samples`: that many instead of all, the first ones of both parts, which keep their proportion.
  /// Throws Failure naming the file: `missing_file`, or `bad_file` where the size or a label is wrong; `bad_spec`
  /// where there are fewer than `samples` records.
  explicit Cifar10(const std::string& folder, std::optional<std::int64_t> samples = std::nullopt);

  const DataShape& shape() const override { return shape_; }
  std::int64_t samples() const override { return std::ssize(records_); }
  std::int64_t validation_samples(double) const override { return test_samples_; }
  void fill(std::span<const std::int64_t> indices, Batch& batch) const override;
  std::string description() const override;

 private:
  void add_file(const std::string& path);
  void keep(std::int64_t samples);

  std::string folder_;
  DataShape shape_;
  std::vector<MappedFile> files_;
  std::vector<const std::byte*> records_;
  std::int64_t test_samples_ = 0;
};

}  // namespace assay::engine
