#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace assay::engine {

struct TrainSpec;

/// What a model sees in one step, on the host or on the device.
/// | data    | inputs                       | targets                                             |
/// |---------|------------------------------|-----------------------------------------------------|
/// | vectors | float (N, features)          | int64 (N): the class                                |
/// | images  | uint8 (N, height, width, 3)  | int64 (N): the class                                |
/// | tokens  | int64 (N, T)                 | int64 (N, T): the token to predict, −100: not asked |
struct Batch {
  at::Tensor inputs;
  at::Tensor targets;
};

/// The target of a token that the model is not asked for.
constexpr std::int64_t kIgnoredTarget = -100;

/// What a model needs to know of the data before the first batch.
struct DataShape {
  enum class Kind { vectors, images, tokens } kind = Kind::vectors;
  std::int64_t features = 0;    ///< vectors
  std::int64_t image_size = 0;  ///< images: height and width; always 3 channels
  std::int64_t classes = 0;     ///< vectors and images
  std::int64_t vocabulary = 0;  ///< tokens: every token is below this
  std::int64_t seq_length = 0;  ///< tokens: T

  std::int64_t inputs_per_sample() const;  ///< elements
  std::int64_t targets_per_sample() const;
  std::int64_t bytes_per_sample() const;  ///< inputs and targets
};

/// Samples by index. `fill` is const and thread-safe, and the same index always gives the same sample, on every
/// platform; so order, sharding and the number of workers never change what is learnt from.
class Dataset {
 public:
  virtual ~Dataset() = default;
  virtual const DataShape& shape() const = 0;
  /// Training and validation together; validation samples are the last ones.
  virtual std::int64_t samples() const = 0;
  /// How many of the samples are for validation where the specification asks for `share` of them (0 … 1): as many,
  /// rounded, but at least one of each part where there are two samples and `share` is not 0. Data that come with
  /// their own test part ignore `share`.
  virtual std::int64_t validation_samples(double share) const;
  std::int64_t training_samples(double share) const { return samples() - validation_samples(share); }
  /// Writes the samples `indices` into the first rows of `batch`, which `allocate_batch` made (or is a view of rows
  /// of such a batch). Does not touch other rows. Throws Failure where a file turns out to be unusable.
  virtual void fill(std::span<const std::int64_t> indices, Batch& batch) const = 0;
  /// The lowest loss (nats per token) that any model can reach, where it is known.
  virtual std::optional<double> loss_floor() const { return std::nullopt; }
  /// One line for people: "spiral, 10,000 samples, 2 arms, noise 0.1".
  virtual std::string description() const = 0;
};

/// The data set that `spec` names. `model_vocabulary`: how many tokens the model knows; 0: as many as the data need.
/// Throws Failure: `missing_file`, `bad_file`, or `bad_spec` where task, model and data do not fit together.
std::unique_ptr<Dataset> make_dataset(const TrainSpec& spec, std::int64_t model_vocabulary);

/// Host tensors for `rows` samples with undefined content, in page-locked memory if `pinned` and there is CUDA (then
/// of the calling thread's current device).
Batch allocate_batch(const DataShape& shape, std::int64_t rows, bool pinned);

/// Every sample of a small data set, row = index, in pageable memory: for data that live on the GPU. Takes
/// `samples() · shape().bytes_per_sample()` bytes.
Batch load_all(const Dataset& dataset);

}  // namespace assay::engine
