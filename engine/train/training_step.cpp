#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>

#include "core/torch_compat.h"
#include "formats/failure.h"
#include "train/trainer.h"

namespace assay::engine {
namespace {

std::unique_ptr<Model> prepared_model(const TrainSpec& spec, const DataShape& data, at::Device device) {
  const NumberFormats formats = number_formats(spec.precision, device);
  choose_matrix_precision(spec.precision == Precision::tf32);
  choose_attention(spec.attention, device, formats.products);
  auto model = make_model(spec, data);
  model->parameters().allocate(device, formats, spec.seed);
  if (!spec.model.weights.empty()) load_weights(model->parameters(), spec.model.weights);
  model->prepare(device, formats.products);
  return model;
}

/// Random starts are alike on like machines; this makes them so on unlike ones, those of frozen weights as well.
void share_start(Parameters& parameters, Group& group) {
  for (auto& parameter : parameters.all()) {
    group.broadcast(parameter.master.defined() ? parameter.master : parameter.value);
  }
  parameters.round_masters();
}

}  // namespace

NumberFormats number_formats(Precision precision, at::Device device) {
  const bool only_gpu =
      precision == Precision::tf32 || precision == Precision::fp16 || precision == Precision::fp16_all;
  if (!device.is_cuda() && only_gpu) {
    throw Failure("unsupported", "precision '" + std::string(name_of(precision)) + "' needs a GPU",
                  "On the CPU use fp32 or bf16.");
  }
  switch (precision) {
    case Precision::fp32:
    case Precision::tf32: break;
    case Precision::bf16: return {.products = at::kBFloat16, .sums = at::kFloat};
    case Precision::fp16: return {.products = at::kHalf, .sums = at::kFloat};
    case Precision::bf16_all: return {.products = at::kBFloat16, .sums = at::kBFloat16};
    case Precision::fp16_all: return {.products = at::kHalf, .sums = at::kHalf};
  }
  return {};
}

TrainingStep::TrainingStep(const TrainSpec& spec, const DataShape& data, at::Device device, Group& group,
                           std::int64_t window)
    : TrainingStep(spec, prepared_model(spec, data, device), device, group, window) {}

TrainingStep::TrainingStep(const TrainSpec& spec, std::unique_ptr<Model> model, at::Device device, Group& group,
                           std::int64_t window)
    : group_(group),
      model_(std::move(model)),
      ledger_(window, spec.gradient_clipping, spec.scales_loss(), device),
      update_(make_update(spec, model_->parameters().arenas())) {
  share_start(model_->parameters(), group);
  if (group.size() > 1) buckets_ = std::make_unique<GradientBuckets>(model_->parameters().arenas(), group);
  const auto floats = at::TensorOptions().dtype(at::kFloat).device(device);
  accumulation_share_ = at::full({1}, 1.0 / static_cast<double>(spec.gradient_accumulation), floats);
  // The dropout of every rank differs.
  at::manual_seed(spec.seed + 1000003ULL * static_cast<std::uint64_t>(group.rank() + 1));
}

void TrainingStep::run(const std::vector<Batch>& batches, StepLog* log) {
  const at::Tensor loss = gradients(batches, log);
  const at::NoGradGuard no_grad;
  update_->apply(ledger_.begin_update(model_->parameters().arenas()));
  ledger_.end_step(loss);
  if (log) log->mark(Phase::optimizer);
}

at::Tensor TrainingStep::gradients(const std::vector<Batch>& batches, StepLog* log) {
  const auto mark = [log](Phase phase) {
    if (log) log->mark(phase);
  };
  model_->parameters().zero_grad();
  at::Tensor mean_loss;
  at::Tensor scale = batches.size() > 1 ? accumulation_share_ : at::Tensor();
  if (ledger_.loss_scale().defined()) {
    scale = scale.defined() ? scale * ledger_.loss_scale() : ledger_.loss_scale();
  }
  mark(Phase::data);
  for (std::size_t i = 0; i < batches.size(); ++i) {
    const bool is_last = i + 1 == batches.size();
    const at::Tensor loss = model_->loss(batches[i], scale);
    mean_loss = i == 0 ? loss.detach().reshape({1}) : mean_loss + loss.detach();
    if (is_last && batches.size() > 1) mean_loss = mean_loss * accumulation_share_;
    mark(Phase::forward);
    if (buckets_) {
      buckets_->prepare(is_last);
      // Under way during the backward pass, like the gradients; `finish` waits for both.
      if (is_last) group_.start_mean(mean_loss = mean_loss.clone());
    }
    torch::autograd::backward({loss}, {});
    mark(Phase::backward);
  }
  if (buckets_) {
    buckets_->finish();
    mark(Phase::communication);
  }
  return mean_loss;
}

at::Tensor TrainingStep::score(const std::function<std::optional<Batch>()>& next) {
  average_buffers();
  at::Tensor sums = at::zeros({3}, accumulation_share_.options());
  while (const auto batch = next()) sums.add_(model_->score(*batch));
  group_.start_sum(sums);
  group_.finish();
  return sums;
}

void TrainingStep::average_buffers() {
  for (auto& parameter : model_->parameters().all()) {
    if (parameter.buffer) group_.start_mean(parameter.value);
  }
  group_.finish();
}

}  // namespace assay::engine
