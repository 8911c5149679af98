#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace assay {

/// A metric that the user wants read from a program's ordinary output.
struct MetricPattern {
  std::string name;
  std::string expression;  ///< regular expression with one group; empty: `name=NUMBER`, `name: NUMBER`, `name NUMBER`
};

/// Finds metrics in lines of ordinary text such as
///   `Epoch 3/10  step 120: loss=0.1234, val_acc: 0.95, tokens/s=3200`.
/// Without patterns of the user's own it knows the usual names (loss, accuracy, perplexity, learning rate, throughput
/// and their common spellings); other numbers are left alone.
class TextMetrics {
 public:
  /// An expression that does not compile, or has no group, is a `usage` error.
  static Result<TextMetrics> make(std::vector<MetricPattern> patterns);

  TextMetrics(TextMetrics&&) noexcept;
  TextMetrics& operator=(TextMetrics&&) noexcept;
  ~TextMetrics();

  struct Found {
    std::string_view name;  ///< valid as long as this object
    double value = 0;
  };
  struct Line {
    std::optional<std::int64_t> step;
    std::vector<Found> metrics;
  };
  /// What one line says; the result is valid until the next call.
  const Line& scan(std::string_view line);

 private:
  struct Compiled;
  explicit TextMetrics(std::unique_ptr<Compiled> compiled);
  std::unique_ptr<Compiled> compiled_;
  Line line_;
};

}  // namespace assay
