#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

#include "runs/printed_number.h"

namespace assay {

/// The part of the data that a figure is about.
enum class DataSplit { none, train, val, test };

/// What a figure in a program's text measures.
enum class Measure {
  loss,
  accuracy,
  top5_accuracy,
  perplexity,
  learning_rate,
  grad_norm,
  samples_per_second,
  tokens_per_second,
  throughput,
  step_seconds,
  data_seconds,
  seconds_per_epoch,
  mfu,
  time,  ///< of a step or of an epoch: the rest of the line decides
};

/// A name in front of a number, understood.
struct TextKey {
  Measure measure = Measure::loss;
  DataSplit split = DataSplit::none;
  bool best = false;         ///< the best so far, not the value of now
  bool whole_epoch = false;  ///< Lightning's `train_loss_epoch`: the mean of an epoch beside `train_loss_step`
  bool percent = false;      ///< the name says so: `Acc@1`
  PrintedNumber::Unit unit = PrintedNumber::Unit::none;  ///< the name says so: `step_time_ms`
  double factor = 1;
};

/// The last words of `tokens` (as they stand in a line, blanks between them) as a key; the whole of each token
/// counts, so `aux_loss` and `kl loss:` are none. Where `=` follows, a blank ends the name: `Done loss=3` is a loss.
/// Nothing for names that are not ours to read.
std::optional<TextKey> text_key(std::span<const std::string_view> tokens, bool before_equals);

/// `train`, `Validation`, `eval`: a word that stands for a part of the data.
DataSplit split_named(std::string_view word);

enum class Position { none, step, batch, epoch };
/// `step`, `iter`, `global_step`; `batch`; `epoch`.
Position position_named(std::string_view word);

/// Whether a measure is one of the model on some data, so that a split applies to it.
bool has_splits(Measure measure);
/// Whether it is stored as a share, 0…1.
bool is_share(Measure measure);

/// The metric's name (docs/reference/metrics.md); valid for good. Empty for a combination that nobody measures.
std::string_view metric_name(const TextKey& key);

}  // namespace assay
