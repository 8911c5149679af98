#pragma once

#include <filesystem>

#include "base/result.h"

namespace assay {

/// The programs that workloads are made of, on the machine where they run.
struct Programs {
  std::filesystem::path self;    ///< this binary
  std::filesystem::path engine;  ///< assay-engine; empty: not found
};

/// Looks for assay-engine: beside `self`, then ASSAY_ENGINE, then on the PATH. Empty if there is none.
std::filesystem::path find_engine(const std::filesystem::path& self);

/// What to say where `find_engine` found none: kind `no_engine`.
Error no_engine_error();

}  // namespace assay
