#pragma once

#include <string_view>

namespace assay {

// How much of a reference text an answer has, as ROUGE counts it. Pure.
//
// Words are runs of ASCII letters and digits, in lower case, and of bytes beyond ASCII; words are not stemmed, so that
// figures are a little below those of tools that do. A text that is not split by blanks (Chinese, Japanese) is compared
// clause by clause, which says little.

/// Each from 0 to 1.
struct RougeScore {
  double precision = 0;  ///< of what the answer has, how much is in the reference
  double recall = 0;     ///< of what the reference has, how much is in the answer
  double f1 = 0;         ///< their harmonic mean
};

struct RougeScores {
  RougeScore one;      ///< ROUGE-1: words
  RougeScore two;      ///< ROUGE-2: pairs of neighbouring words
  RougeScore longest;  ///< ROUGE-L: the longest sequence of words that both have, with gaps
};

/// Texts of more than 4,096 words are compared by the first 4,096. Milliseconds for those, microseconds for a hundred.
RougeScores rouge(std::string_view answer, std::string_view reference);

}  // namespace assay
