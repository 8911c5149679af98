#pragma once

#include <string>
#include <string_view>

namespace assay {

/// A file's content, which must outlive it, under the name that messages call it by.
struct NamedText {
  std::string name;  ///< also tells the job id in `slurm-48211.out`
  std::string_view text;
};

}  // namespace assay
