#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <string>

#include "core/parameters.h"
#include "data/dataset.h"
#include "formats/train_spec.h"

namespace assay::engine {

/// Arithmetic of one sample's forward pass; a multiply-add is two operations.
struct ForwardFlops {
  double trained = 0;  ///< products with weights that get gradients
  double frozen = 0;   ///< products with weights that do not
  double other = 0;    ///< products of activations (attention)
};

/// Operations of one training sample. A product with trained weights, or of two activations, costs three times its
/// forward pass (itself and a gradient for each factor), one with frozen weights twice. Recomputation for checkpointing
/// does not count: it is a way to do the work, not the work.
double training_flops(const ForwardFlops& forward);

/// A network with its loss. Built from a spec and the shape of the data; parameters have no memory until
/// `parameters().allocate`, after which `prepare` is called once.
class Model {
 public:
  virtual ~Model() = default;
  Parameters& parameters() { return parameters_; }

  /// Once, after `allocate`: tables that depend on device and number format. Call the base.
  virtual void prepare(at::Device device, at::ScalarType work);
  /// Mean loss, fp32 scalar; its gradient is multiplied by `gradient_scale` (see head_loss).
  virtual at::Tensor loss(const Batch& batch, const at::Tensor& gradient_scale) = 0;
  /// Without gradient or dropout: fp32 (3), sum of losses, right answers, targets.
  virtual at::Tensor score(const Batch& batch) = 0;
  /// Without dropout: (N, classes), or (N, T, vocabulary).
  virtual at::Tensor logits(const at::Tensor& inputs) = 0;
  virtual ForwardFlops forward_flops() const = 0;
  /// What the backward pass needs of one sample's forward pass at the very least. After `prepare`.
  virtual double least_bytes_per_sample() const = 0;

  /// Whether a step can be recorded as a CUDA graph: nothing in it depends on values only the host knows.
  virtual bool can_be_recorded() const { return true; }

 protected:
  Parameters parameters_;
  double work_bytes() const { return static_cast<double>(at::elementSize(work_)); }

  at::Device device_ = at::kCPU;
  at::ScalarType work_ = at::kFloat;
};

/// Throws Failure `bad_spec` where model, task and data do not go together.
std::unique_ptr<Model> make_model(const TrainSpec& spec, const DataShape& data);

/// The vocabulary a named language model has before any data is seen; 0 for other models.
std::int64_t vocabulary_of(const ModelSpec& spec);

/// Fills parameters (which have memory) from safetensors in the Hugging Face layout. Missing tensors (but adapters,
/// which then keep their random start) and wrong shapes are Failure `bad_file`; returns how many tensors of the file
/// were not used.
std::int64_t load_weights(Parameters& parameters, const std::string& path);

/// Writes the gradients of trained parameters times `factor`, in fp32, under the names and in the layout that
/// `load_weights` reads. Throws what write_safetensors throws.
void save_gradients(Parameters& parameters, double factor, const std::string& path);

}  // namespace assay::engine
