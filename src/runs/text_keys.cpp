#include "runs/text_keys.h"

#include <algorithm>
#include <array>
#include <string>
#include <unordered_map>

namespace assay {
namespace {

constexpr std::size_t kMostWords = 8;
constexpr std::size_t kLongestKey = 64;

/// Words of a name, in lower case, and whether each hangs together with the one before it (`val_loss`, not `val loss`).
struct Words {
  std::array<std::string_view, kMostWords> word;
  std::array<bool, kMostWords> joined;
  std::size_t count = 0;
};

bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
bool is_lower(char c) { return c >= 'a' && c <= 'z'; }

/// Takes a name apart at `_`, `/`, `.`, `-`, blanks and before capitals. `buffer` keeps the letters. False if it is too
/// long to be a name.
class NameReader {
 public:
  bool add(std::string_view token) {
    bool joined = false;
    std::size_t begin = 0;
    for (std::size_t i = 0; i <= token.size(); ++i) {
      const bool separator =
          i == token.size() || token[i] == '_' || token[i] == '/' || token[i] == '.' || token[i] == '-';
      const bool hump = !separator && i > begin && is_upper(token[i]) && is_lower(token[i - 1]);
      if (!separator && !hump) continue;
      if (i > begin) {
        if (!take(token.substr(begin, i - begin), joined)) return false;
        joined = true;
      }
      begin = hump ? i : i + 1;
    }
    return true;
  }
  const Words& words() const { return words_; }

 private:
  bool take(std::string_view part, bool joined) {
    if (words_.count == kMostWords || used_ + part.size() > buffer_.size()) return false;
    char* const start = buffer_.data() + used_;
    std::transform(part.begin(), part.end(), start,
                   [](char c) { return is_upper(c) ? static_cast<char>(c | 0x20) : c; });
    used_ += part.size();
    words_.word[words_.count] = {start, part.size()};
    words_.joined[words_.count++] = joined;
    return true;
  }
  std::array<char, kLongestKey> buffer_;
  std::size_t used_ = 0;
  Words words_;
};

struct Phrase {
  std::string_view words;
  Measure measure;
  bool percent = false;
};

constexpr std::array kPhrases = {
    Phrase{"loss", Measure::loss},
    Phrase{"acc", Measure::accuracy},
    Phrase{"accuracy", Measure::accuracy},
    Phrase{"acc1", Measure::accuracy},
    Phrase{"top1", Measure::accuracy},
    Phrase{"top1 acc", Measure::accuracy},
    Phrase{"top1 accuracy", Measure::accuracy},
    Phrase{"top 1", Measure::accuracy},
    Phrase{"categorical accuracy", Measure::accuracy},
    Phrase{"sparse categorical accuracy", Measure::accuracy},
    Phrase{"binary accuracy", Measure::accuracy},
    // torchvision's `accuracy()` gives percent, and these are its names.
    Phrase{"acc@1", Measure::accuracy, true},
    Phrase{"prec@1", Measure::accuracy, true},
    Phrase{"acc@5", Measure::top5_accuracy, true},
    Phrase{"prec@5", Measure::top5_accuracy, true},
    Phrase{"acc5", Measure::top5_accuracy},
    Phrase{"top5", Measure::top5_accuracy},
    Phrase{"top5 acc", Measure::top5_accuracy},
    Phrase{"top 5", Measure::top5_accuracy},
    Phrase{"ppl", Measure::perplexity},
    Phrase{"perplexity", Measure::perplexity},
    Phrase{"lr", Measure::learning_rate},
    Phrase{"learning rate", Measure::learning_rate},
    Phrase{"norm", Measure::grad_norm},
    Phrase{"gnorm", Measure::grad_norm},
    Phrase{"grad norm", Measure::grad_norm},
    Phrase{"gradient norm", Measure::grad_norm},
    Phrase{"samples per second", Measure::samples_per_second},
    Phrase{"samples per sec", Measure::samples_per_second},
    Phrase{"samples s", Measure::samples_per_second},
    Phrase{"samples sec", Measure::samples_per_second},
    Phrase{"images per second", Measure::samples_per_second},
    Phrase{"images per sec", Measure::samples_per_second},
    Phrase{"images s", Measure::samples_per_second},
    Phrase{"images sec", Measure::samples_per_second},
    Phrase{"img s", Measure::samples_per_second},
    Phrase{"img sec", Measure::samples_per_second},
    Phrase{"imgs s", Measure::samples_per_second},
    Phrase{"imgs sec", Measure::samples_per_second},
    Phrase{"examples per second", Measure::samples_per_second},
    Phrase{"examples s", Measure::samples_per_second},
    Phrase{"examples sec", Measure::samples_per_second},
    Phrase{"tokens per second", Measure::tokens_per_second},
    Phrase{"tokens per sec", Measure::tokens_per_second},
    Phrase{"tokens s", Measure::tokens_per_second},
    Phrase{"tokens sec", Measure::tokens_per_second},
    Phrase{"tok s", Measure::tokens_per_second},
    Phrase{"tok sec", Measure::tokens_per_second},
    Phrase{"toks s", Measure::tokens_per_second},
    Phrase{"wps", Measure::tokens_per_second},  // fairseq's words are tokens
    Phrase{"throughput", Measure::throughput},
    Phrase{"step seconds", Measure::step_seconds},
    Phrase{"step time", Measure::step_seconds},
    Phrase{"iter time", Measure::step_seconds},
    Phrase{"iteration time", Measure::step_seconds},
    Phrase{"batch time", Measure::step_seconds},
    Phrase{"time per step", Measure::step_seconds},
    Phrase{"time per iter", Measure::step_seconds},
    Phrase{"time per iteration", Measure::step_seconds},
    Phrase{"elapsed time per iteration", Measure::step_seconds},
    Phrase{"time step", Measure::step_seconds},
    Phrase{"time iter", Measure::step_seconds},
    Phrase{"data", Measure::data_seconds},
    Phrase{"data time", Measure::data_seconds},
    Phrase{"epoch time", Measure::seconds_per_epoch},
    Phrase{"time per epoch", Measure::seconds_per_epoch},
    Phrase{"seconds per epoch", Measure::seconds_per_epoch},
    Phrase{"mfu", Measure::mfu},
    Phrase{"time", Measure::time},
    Phrase{"dt", Measure::time},
};

constexpr std::size_t kLongestPhrase = 4;  // words

/// Words that may stand before a name in the same token and leave it what it is.
constexpr std::array<std::string_view, 16> kQualifiers = {"avg",   "average", "mean",  "running", "current", "cur",
                                                          "batch", "mini",    "epoch", "step",    "iter",    "total",
                                                          "final", "lm",      "mlm",   "smoothed"};
/// Words that may stand before it behind a blank, and are no part of it.
constexpr std::array<std::string_view, 22> kNeutral = {
    "info",    "debug", "warning", "root",   "main",     "with", "the",     "and",  "is",  "at",  "got",
    "metrics", "stats", "results", "result", "finished", "done", "trainer", "logs", "set", "log", "progress"};
/// Words behind a name: of the step or of the epoch, or how it was averaged.
constexpr std::array<std::string_view, 6> kTrailing = {"step", "epoch", "avg", "mean", "average", "smooth"};

template <typename Meaning>
struct Named {
  std::string_view word;
  Meaning meaning;
};
template <typename Meaning>
Named(const char*, Meaning) -> Named<Meaning>;

/// What a word means, whatever the case of its letters.
template <typename List, typename Meaning>
Meaning find_named(const List& list, std::string_view word, Meaning otherwise) {
  for (const auto& known : list) {
    if (word.size() != known.word.size() || (word.front() | 0x20) != known.word.front()) continue;
    const auto same = [](char a, char b) { return (is_upper(a) ? static_cast<char>(a | 0x20) : a) == b; };
    if (std::equal(word.begin(), word.end(), known.word.begin(), same)) return known.meaning;
  }
  return otherwise;
}

template <typename List>
bool contains(const List& list, std::string_view word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

const Phrase* find_phrase(const Words& words, std::size_t first, std::size_t last) {
  static const auto kTable = [] {
    std::unordered_map<std::string_view, const Phrase*> table;
    for (const auto& phrase : kPhrases) table.emplace(phrase.words, &phrase);
    return table;
  }();
  std::array<char, kLongestKey + kMostWords> text;
  std::size_t length = 0;
  for (std::size_t i = first; i < last; ++i) {
    if (i > first) text[length++] = ' ';
    length += words.word[i].copy(text.data() + length, words.word[i].size());
  }
  const auto found = kTable.find(std::string_view(text.data(), length));
  return found == kTable.end() ? nullptr : found->second;
}

/// The longest phrase that ends before word `last`; `first` is where it begins.
const Phrase* phrase_before(const Words& words, std::size_t last, std::size_t& first) {
  for (std::size_t length = std::min(kLongestPhrase, last); length > 0; --length) {
    first = last - length;
    if (const Phrase* phrase = find_phrase(words, first, last)) return phrase;
  }
  return nullptr;
}

/// Reads what stands before the phrase: the part of the data, `best`, words without weight. False if it makes the name
/// another one: `aux_loss`, `style loss`.
bool take_front(const Words& words, std::size_t first, bool before_equals, TextKey& key) {
  for (std::size_t i = first; i-- > 0;) {
    const std::string_view word = words.word[i];
    const bool joined = words.joined[i + 1];
    if (const DataSplit split = split_named(word); split != DataSplit::none) {
      if (key.split == DataSplit::none) key.split = split;
    } else if (word == "best") {
      key.best = true;
    } else if (!contains(kQualifiers, word)) {
      return !joined && (before_equals || contains(kNeutral, word));
    }
  }
  return true;
}

}  // namespace

DataSplit split_named(std::string_view word) {
  if (word.size() < 3 || std::string_view("tvedTVED").find(word.front()) == std::string_view::npos)
    return DataSplit::none;
  static constexpr std::array kNames = {
      Named{"train", DataSplit::train}, Named{"training", DataSplit::train}, Named{"val", DataSplit::val},
      Named{"valid", DataSplit::val},   Named{"validation", DataSplit::val}, Named{"validating", DataSplit::val},
      Named{"eval", DataSplit::val},    Named{"evaluation", DataSplit::val}, Named{"evaluating", DataSplit::val},
      Named{"dev", DataSplit::val},     Named{"test", DataSplit::test},      Named{"testing", DataSplit::test},
  };
  return find_named(kNames, word, DataSplit::none);
}

Position position_named(std::string_view word) {
  if (word.size() < 3 || word.size() > 11) return Position::none;
  static constexpr std::array kNames = {
      Named{"step", Position::step},       Named{"steps", Position::step},       Named{"iter", Position::step},
      Named{"iteration", Position::step},  Named{"itr", Position::step},         Named{"global_step", Position::step},
      Named{"train_step", Position::step}, Named{"num_updates", Position::step}, Named{"batch", Position::batch},
      Named{"minibatch", Position::batch}, Named{"epoch", Position::epoch},
  };
  return find_named(kNames, word, Position::none);
}

bool has_splits(Measure measure) { return measure <= Measure::perplexity; }

bool is_share(Measure measure) {
  return measure == Measure::accuracy || measure == Measure::top5_accuracy || measure == Measure::mfu;
}

std::optional<TextKey> text_key(std::span<const std::string_view> tokens, bool before_equals) {
  NameReader reader;
  for (const auto token : tokens) {
    if (!reader.add(token)) return std::nullopt;
  }
  const Words& words = reader.words();
  TextKey key;
  std::size_t last = words.count;
  if (last == 0) return std::nullopt;
  if (last > 1 && words.joined[last - 1]) {
    key.unit = unit_named(words.word[last - 1], key.factor);
    if (key.unit != PrintedNumber::Unit::time) key.unit = PrintedNumber::Unit::none;
  }
  std::size_t first = 0;
  const Phrase* phrase = phrase_before(words, last, first);
  if (phrase) key.unit = PrintedNumber::Unit::none;
  if (!phrase && key.unit == PrintedNumber::Unit::time) phrase = phrase_before(words, --last, first);
  if (!phrase && last > 1 && words.joined[last - 1] && contains(kTrailing, words.word[last - 1])) {
    key.whole_epoch = words.word[last - 1] == "epoch";
    phrase = phrase_before(words, last - 1, first);
  }
  if (!phrase) return std::nullopt;
  key.measure = phrase->measure;
  key.percent = phrase->percent;
  if (!take_front(words, first, before_equals, key)) return std::nullopt;
  return key;
}

std::string_view metric_name(const TextKey& key) {
  if (!has_splits(key.measure)) {
    // The speed of an evaluation is not the speed of the training.
    if (key.split == DataSplit::val || key.split == DataSplit::test || key.best) return {};
    static constexpr std::array<std::string_view, 10> kNames = {"learning_rate",
                                                                "grad_norm",
                                                                "samples_per_second",
                                                                "tokens_per_second",
                                                                "throughput",
                                                                "step_seconds",
                                                                "data_seconds",
                                                                "seconds_per_epoch",
                                                                "mfu",
                                                                ""};
    return kNames[static_cast<std::size_t>(key.measure) - static_cast<std::size_t>(Measure::learning_rate)];
  }
  struct Names {
    std::string text[4][3][2][2];
  };
  static const Names kNames = [] {
    Names names;
    static constexpr std::array<std::string_view, 4> kMeasures = {"loss", "accuracy", "top5_accuracy", "perplexity"};
    static constexpr std::array<std::string_view, 3> kSplits = {"", "val_", "test_"};
    for (std::size_t m = 0; m < kMeasures.size(); ++m) {
      for (std::size_t s = 0; s < kSplits.size(); ++s) {
        for (const bool best : {false, true}) {
          for (const bool epoch : {false, true}) {
            std::string& name = names.text[m][s][best][epoch];
            if (epoch) name += "epoch.";
            if (best) name += "best_";
            name.append(kSplits[s]).append(kMeasures[m]);
          }
        }
      }
    }
    return names;
  }();
  const std::size_t split = key.split == DataSplit::val ? 1 : key.split == DataSplit::test ? 2 : 0;
  // Validation has one value per epoch: its mean over the epoch is the value.
  const bool epoch = key.whole_epoch && split == 0;
  return kNames.text[static_cast<std::size_t>(key.measure)][split][key.best][epoch];
}

}  // namespace assay
