#include <ATen/ATen.h>

#include <boost/json/object.hpp>

#include "formats/events.h"
#include "train/trainer.h"

namespace assay::engine {

void write_first_gradients(const TrainSpec& spec, const Workplace& place, const std::string& path) {
  Group& group = *place.group;
  const auto dataset = make_dataset(spec, vocabulary_of(spec.model));
  TrainingStep step(spec, dataset->shape(), place.device, group, 1);
  const SampleOrder order(spec.seed, dataset->training_samples(spec.dataset.validation),
                          spec.batch_size * spec.gradient_accumulation * group.size());
  Loader loader(*dataset, order,
                {.rank = group.rank(),
                 .ranks = group.size(),
                 .rows = spec.batch_size,
                 .micro_batches = spec.gradient_accumulation,
                 .workers = 0,
                 .prefetch = 0,
                 .held = spec.gradient_accumulation});
  std::vector<Batch> batches;
  for (std::int64_t i = 0; i < spec.gradient_accumulation; ++i) {
    const Batch batch = loader.next().batch;
    batches.push_back({batch.inputs.to(place.device), batch.targets.to(place.device)});
  }
  const double loss = step.gradients(batches, nullptr).item<double>();
  if (group.rank() != 0) return;
  const at::Tensor& scale = step.ledger().loss_scale();
  save_gradients(step.model().parameters(), scale.defined() ? 1 / scale.item<double>() : 1, path);
  emit_event("result", {{"metrics", boost::json::object{{"loss", loss}}}});
}

}  // namespace assay::engine
