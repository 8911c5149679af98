#pragma once

#include <boost/json/object.hpp>
#include <functional>
#include <memory>
#include <optional>

#include "core/cuda.h"
#include "core/trace.h"
#include "data/dataset.h"
#include "data/evaluation_reader.h"
#include "data/loader.h"
#include "formats/train_spec.h"
#include "models/model.h"
#include "optim/optimizer.h"
#include "parallel/gradient_buckets.h"
#include "parallel/group.h"
#include "train/step_log.h"

namespace assay::engine {

/// Where and with whom a rank works.
struct Workplace {
  at::Device device = at::kCPU;
  Group* group = nullptr;
  double peak_flops = 0;  ///< measured, of one rank; 0: not measured
  bool oversubscribed = false;
  std::string trace_path;  ///< where `profile` steps go
};

/// What a precision computes in. Failure `unsupported` where the device cannot.
NumberFormats number_formats(Precision precision, at::Device device);

/// The first step of a profile, after the warm-up: the first ones show allocations and algorithm searches. Earlier
/// where the run has too few; `total_steps` 0: not known (a run limited by time).
std::int64_t first_profiled_step(std::int64_t profile_steps, std::int64_t total_steps);

/// A model on a device, with what it takes to run one step of it: no data, no schedule, no reports.
class TrainingStep {
 public:
  TrainingStep(const TrainSpec& spec, const DataShape& data, at::Device device, Group& group, std::int64_t window);
  /// With a model that is prepared; every rank gets rank 0's weights.
  TrainingStep(const TrainSpec& spec, std::unique_ptr<Model> model, at::Device device, Group& group,
               std::int64_t window);

  Model& model() { return *model_; }
  StepLedger& ledger() { return ledger_; }

  /// One optimiser step over micro-batches that are on the device. `log` may be null (then no marks are made).
  void run(const std::vector<Batch>& batches, StepLog* log);
  /// Its first half: leaves the mean gradients of all ranks, times the loss scale, and returns the mean loss (1).
  at::Tensor gradients(const std::vector<Batch>& batches, StepLog* log);

  /// Scores every batch that `next` hands out, until it has none; on all ranks. Fp32 (3), summed over the ranks:
  /// losses, right answers, targets. Running statistics become the mean of those of all ranks first: which rank scores
  /// a sample does not matter.
  at::Tensor score(const std::function<std::optional<Batch>()>& next);

 private:
  void average_buffers();

  Group& group_;
  std::unique_ptr<Model> model_;
  StepLedger ledger_;
  std::unique_ptr<ParameterUpdate> update_;
  std::unique_ptr<GradientBuckets> buckets_;
  at::Tensor accumulation_share_;
};

/// Instead of a training: writes the gradients of its first step (see save_gradients) and, as `result`, the loss.
void write_first_gradients(const TrainSpec& spec, const Workplace& place, const std::string& path);

/// Trains as the spec says and reports through the protocol.
class Trainer {
 public:
  Trainer(const TrainSpec& spec, const Workplace& place);
  ~Trainer();
  void run();

 private:
  struct Pending {  // a batch whose copy to the device may still be under way
    Loader::Loaded loaded;
    TimePoint copied;
  };
  struct Scores {
    double loss = 0;
    double accuracy = 0;
  };

  void say_hello();
  std::int64_t planned_steps() const;
  bool is_over(std::int64_t step);
  void plan_window(std::int64_t step);
  void one_step(std::int64_t step);
  void begin_trace(std::int64_t step);
  void end_trace();
  void load_batches();
  void recycle(bool wait);
  void consider_recording(std::int64_t step);
  void record_step();
  void fetch_resident_batch();
  void plan_resident(std::int64_t step);
  void after_step(std::int64_t done);
  at::Tensor score_validation_data(std::int64_t count);
  at::Tensor score_training_data(std::int64_t count);
  std::optional<Scores> evaluate(bool on_training_data);
  void report_progress(std::int64_t done, bool evaluates, bool epoch_ends);
  void report_result(std::int64_t done);
  boost::json::object rank_spread();

  const TrainSpec& spec_;
  const Workplace& place_;
  Group& group_;
  const bool on_device_;
  const double started_;
  std::unique_ptr<Dataset> dataset_;
  std::int64_t training_samples_;
  SampleOrder order_;
  TrainingStep step_;
  std::unique_ptr<Loader> loader_;
  std::unique_ptr<EvaluationReader> validation_;
  StepLog log_;
  std::int64_t total_steps_;
  std::int64_t next_check_ = 1;   // of the duration
  std::unique_ptr<Trace> trace_;  // while steps are profiled
  bool has_trace_ = false;
  std::deque<Pending> pending_;
  std::vector<Batch> batches_;  // of the step under way, on the device

  // Recorded steps.
  std::unique_ptr<RecordedStep> recorded_;
  std::int64_t recorded_from_ = 0;
  double eager_host_seconds_ = 0;  // of the steps before
  Batch resident_;                 // the whole data set on the device, where it is small
  at::Tensor resident_order_;      // (window, rows of a step)
  std::int64_t last_evaluated_ = -1;
  boost::json::object last_scores_;
};

}  // namespace assay::engine
