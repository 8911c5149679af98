#include "model/gpu_name.h"

#include <algorithm>
#include <cctype>
#include <string>
#include <vector>

namespace assay {
namespace {

std::vector<std::string> words_of_name(std::string_view name) {
  std::vector<std::string> words(1);
  for (const char c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      words.back() += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    } else if (!words.back().empty()) {
      words.emplace_back();
    }
  }
  if (words.back().empty()) words.pop_back();
  return words;
}

}  // namespace

bool is_gpu_named(std::string_view model, std::string_view wish) {
  if (wish.empty()) return true;
  const auto has = words_of_name(model);
  const auto wanted = words_of_name(wish);
  return std::search(has.begin(), has.end(), wanted.begin(), wanted.end()) != has.end();
}

}  // namespace assay
