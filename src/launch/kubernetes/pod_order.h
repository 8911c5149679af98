#pragma once

#include <string>
#include <string_view>

#include "base/files.h"

namespace assay {

struct Job;

// What a pod is handed: the order of a job (launch/hosted/job_order.h) and the files of its scratch folder, as one JSON
// document that fits into a Secret.

/// Errors: those of the order; `unsupported` for more than a Secret holds, or for what is neither file nor folder.
Result<std::string> write_pod_order(const Job& job);

/// Makes the job's folder of it, below `into` and called `job`. Anything may be in the text: `bad_file`.
Result<void> unpack_pod_order(std::string_view text, const fs::path& into);

}  // namespace assay
