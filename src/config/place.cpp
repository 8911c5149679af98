#include "config/place.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/text.h"

namespace assay {

std::string Diagnostic::text() const {
  if (line == 0) return fmt::format("{}: {}", printable(file), message);
  return fmt::format("{}:{}:{}: {}", printable(file), line, column, message);
}

void Problems::add(const Place& place, std::string message) {
  if (full()) return;
  if (found_.size() == kMostProblems) message = "more mistakes follow; correct the ones above first.";
  found_.push_back(Diagnostic{std::string(place.file), place.line, place.column, printable(message)});
}

std::vector<Diagnostic> Problems::take() {
  std::stable_sort(found_.begin(), found_.end(), [](const Diagnostic& a, const Diagnostic& b) {
    return std::make_tuple(a.line == 0, a.line, a.column) < std::make_tuple(b.line == 0, b.line, b.column);
  });
  return std::exchange(found_, {});
}

}  // namespace assay
