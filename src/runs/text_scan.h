#pragma once

#include <array>
#include <map>
#include <regex>
#include <set>

#include "runs/text_metrics.h"

namespace assay {

/// What a TextMetrics remembers; private to it.
struct TextMetrics::State {
  struct Expression {
    std::string name;
    std::optional<std::regex> regex;  ///< absent: the plain name is looked for
  };
  /// How a program has written a share so far, where it has no percent sign.
  struct Habit {
    bool above_1 = false;
    bool up_to_1 = false;
  };

  std::vector<Expression> expressions;
  std::map<std::string_view, Habit> habits;  ///< by metric
  std::set<std::string, std::less<>> names;  ///< of restored habits
  DataSplit last_split = DataSplit::none;    ///< of the line before: `* Acc@1 76.1` sums it up
  std::string plain;
  Line line;

  /// An expression of the user's replaces what is built in under the same name.
  bool replaced(std::string_view name) const;
  /// Adds a metric unless the line has given one of that name already.
  void add(std::string_view name, double value, std::string_view how);
  void doubt(std::string_view name, std::string_view why);
  void add_own(std::string_view name, const PrintedNumber& number);
};

/// Reads one line from left to right.
class TextMetrics::Scan {
 public:
  Scan(State& state, std::string_view line);
  void run();

 private:
  /// The number behind a name, and how it stands there.
  struct Value {
    PrintedNumber number;
    bool separated = false;     ///< by `:` or `=`
    bool equals = false;        ///< by `=`
    std::string_view brackets;  ///< `ms` of `time (ms): 20`
    std::size_t used = 0;       ///< from the end of the name
  };

  void take_rank();
  std::size_t take_rank_label(std::size_t start);
  void take_word();
  void take_number();
  std::optional<Value> value_after(std::size_t end) const;
  bool take_position(std::string_view word, std::size_t end);
  bool take_own(std::string_view word, const Value& value);
  void take_metric(TextKey key, const Value& value);
  void take_share(const TextKey& key, std::string_view name, const PrintedNumber& number, bool percent);
  void take_time(const TextKey& key, const PrintedNumber& number);
  void take_rate(const TextKey& key, const PrintedNumber& number);
  bool is_progress() const { return line_.step || line_.batch || line_.epoch || fraction_of_epoch_; }
  /// Whether the line is about validation or test data alone.
  bool is_validation() const { return (scope_ == DataSplit::val || scope_ == DataSplit::test) && !training_; }
  char before(std::size_t at) const;

  State& state_;
  Line& line_;
  std::string_view text_;
  std::size_t at_ = 0;
  std::array<std::string_view, 6> words_;  ///< the last ones, with nothing but a blank between them
  std::size_t word_count_ = 0;
  DataSplit scope_ = DataSplit::none;  ///< the last `train`, `val` or `test` that stood alone
  bool training_ = false;              ///< a figure of training data was there
  bool accuracy_of_ = false;           ///< `Accuracy of the network on the 10000 test images: 55 %`
  bool summary_ = false;               ///< Hugging Face's last line: means over the whole training
  bool fraction_of_epoch_ = false;
};

}  // namespace assay
