#pragma once

#include "serving/serve_load.h"

namespace assay {

/// First argument that makes the program the workload of `kind: serve`; the second is a file with canonical settings.
inline constexpr const char* kServeWorkloadArgument = "__serve-load";

/// The workload of `kind: serve`: reads its settings, puts the target under load, speaks the workload protocol. SIGINT
/// and SIGTERM end it. Returns the exit code: 0, or 1 after an `error` event.
int serve_workload_main(int argc, char** argv, const TargetMaker& make_target);

}  // namespace assay
