#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/diagnostic.h"

namespace assay {

/// Where something was written. `file` points at a name that outlives the reading.
struct Place {
  std::string_view file;
  int line = 0;    ///< 1-based; 0: not in a file (an override)
  int column = 0;  ///< 1-based, in characters
};

/// Collects the mistakes of one reading. Keeps the first kMostProblems and counts no further: a file with more is
/// something else than it should be, and looking for what each key might have meant costs time.
class Problems {
 public:
  static constexpr std::size_t kMostProblems = 100;

  void add(const Place& place, std::string message);
  bool none() const { return found_.empty(); }
  std::size_t count() const { return found_.size(); }
  bool full() const { return found_.size() > kMostProblems; }
  /// In the order of the file; those without a line (overrides) last, in the order in which they were found.
  std::vector<Diagnostic> take();

 private:
  std::vector<Diagnostic> found_;
};

}  // namespace assay
