#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "runs/text_keys.h"

namespace assay {

/// A metric that the user wants read from a program's ordinary output.
struct MetricPattern {
  std::string name;
  std::string expression;  ///< regular expression with one group; empty: `name=NUMBER`, `name: NUMBER`, `name NUMBER`
};

/// Finds metrics in lines of ordinary text, as a person would read them:
///   `Epoch 3/10  step 120: loss=0.1234, val_acc: 95.3%, tokens/s=3,200`
///   `[rank2] Test set: Average loss: 0.0312, Accuracy: 9847/10000 (98%)`
/// It knows the usual names and the habits of the usual frameworks (docs/guides/reading-output.md); other numbers are
/// left alone, and what could mean two things is not read but reported. Remembers from line to line what a program's
/// percentages look like. One thread; work is linear in the length of the line.
class TextMetrics {
 public:
  /// An expression that does not compile, or has no group, is a `usage` error.
  static Result<TextMetrics> make(std::vector<MetricPattern> patterns);

  TextMetrics(TextMetrics&&) noexcept;
  TextMetrics& operator=(TextMetrics&&) noexcept;
  ~TextMetrics();

  struct Found {
    std::string_view name;  ///< valid as long as this object
    double value = 0;       ///< in the unit of docs/reference/metrics.md: shares 0…1, seconds
    std::string_view how;   ///< what was done to the number: "percent → share"; mostly empty
  };
  /// Something that looks like a metric and could be read in two ways.
  struct Doubt {
    std::string_view name;
    std::string_view why;  ///< in words, for the user; valid for good
  };
  struct Counter {
    std::int64_t at = 0;
    std::int64_t of = 0;  ///< 0: not said
  };
  struct Line {
    std::optional<int> rank;            ///< from `[rank2]`, `Rank 2:`, `[1,2]<stdout>:`
    std::optional<Counter> step;        ///< `step 120`, `iter 7/100`
    std::optional<Counter> batch;       ///< place within an epoch or a pass: `[ 10/5005]`, `423/938 [00:04<`
    std::optional<std::int64_t> epoch;  ///< whole ones only: 0.53 of an epoch is no place to count from
    bool validation = false;            ///< the line is about validation or test data
    bool bar = false;                   ///< a progress bar, which repeats its figures
    std::vector<Found> metrics;         ///< one per name
    std::vector<Doubt> doubts;
  };
  /// What one line says; the result is valid until the next call.
  const Line& scan(std::string_view line);

  /// What it remembers from line to line, and how another one of the same patterns goes on from there.
  json::object state() const;
  void restore(const json::object& state);

 private:
  struct State;
  class Scan;
  explicit TextMetrics(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace assay
