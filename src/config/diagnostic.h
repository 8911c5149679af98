#pragma once

#include <string>

namespace assay {

/// One mistake in settings: where, what, and what to write instead.
struct Diagnostic {
  std::string file;
  int line = 0;    ///< 1-based; 0: the mistake has no line (an override, the whole file)
  int column = 0;  ///< 1-based
  std::string message;

  /// `bench.yaml:14:3: unknown key 'target_qsp'. Did you mean 'target_qps'?`
  std::string text() const;
};

}  // namespace assay
