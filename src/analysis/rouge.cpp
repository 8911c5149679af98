#include "analysis/rouge.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace assay {
namespace {

constexpr std::size_t kMostWords = 4096;

/// Words as numbers, the same for the same word.
class WordNumbers {
 public:
  std::vector<std::uint32_t> of(std::string_view text) {
    std::vector<std::uint32_t> numbers;
    std::string word;
    const auto end_word = [&] {
      if (word.empty()) return;
      numbers.push_back(known_.try_emplace(word, static_cast<std::uint32_t>(known_.size())).first->second);
      word.clear();
    };
    for (const char c : text) {
      const bool upper = c >= 'A' && c <= 'Z';
      const bool in_word = upper || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || (c & '\x80') != 0;
      if (in_word) {
        word += upper ? static_cast<char>(c - 'A' + 'a') : c;
        continue;
      }
      end_word();
      if (numbers.size() == kMostWords) return numbers;
    }
    end_word();
    return numbers;
  }

 private:
  std::map<std::string, std::uint32_t> known_;
};

RougeScore score_of(double common, double in_answer, double in_reference) {
  if (common <= 0) return {};
  RougeScore score{.precision = common / in_answer, .recall = common / in_reference};
  score.f1 = 2 * score.precision * score.recall / (score.precision + score.recall);
  return score;
}

using Grams = std::map<std::pair<std::uint32_t, std::uint32_t>, std::int64_t>;

/// Sequences of one or two words, and how often each occurs.
Grams grams_of(const std::vector<std::uint32_t>& words, std::size_t length) {
  Grams grams;
  for (std::size_t i = 0; i + length <= words.size(); ++i) ++grams[{words[i], length > 1 ? words[i + 1] : 0}];
  return grams;
}

/// One that occurs twice in the reference counts twice at most.
RougeScore by_grams(const std::vector<std::uint32_t>& answer, const std::vector<std::uint32_t>& reference,
                    std::size_t length) {
  if (answer.size() < length || reference.size() < length) return {};
  const Grams in_answer = grams_of(answer, length);
  std::int64_t common = 0;
  for (const auto& [gram, times] : grams_of(reference, length)) {
    const auto found = in_answer.find(gram);
    if (found != in_answer.end()) common += std::min(times, found->second);
  }
  return score_of(static_cast<double>(common), static_cast<double>(answer.size() - length + 1),
                  static_cast<double>(reference.size() - length + 1));
}

std::size_t longest_common(const std::vector<std::uint32_t>& a, const std::vector<std::uint32_t>& b) {
  std::vector<std::size_t> row(b.size() + 1, 0);
  for (const auto word : a) {
    std::size_t before = 0;  // of the row above, one to the left
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t above = row[j];
      row[j] = word == b[j - 1] ? before + 1 : std::max(above, row[j - 1]);
      before = above;
    }
  }
  return row.back();
}

}  // namespace

RougeScores rouge(std::string_view answer, std::string_view reference) {
  WordNumbers words;
  const auto a = words.of(answer);
  const auto b = words.of(reference);
  return {.one = by_grams(a, b, 1),
          .two = by_grams(a, b, 2),
          .longest = score_of(static_cast<double>(longest_common(a, b)), static_cast<double>(a.size()),
                              static_cast<double>(b.size()))};
}

}  // namespace assay
