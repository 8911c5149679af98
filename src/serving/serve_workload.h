#pragma once

#include "serving/serve_load.h"

namespace assay {

/// First argument that makes the program the workload of `kind: serve`. The second is a file with canonical settings;
/// where several clients share the load, the third is the file of its key. `kClientsStarted` after that: somebody else
/// starts every client and tells each its place (`seat_of_environment`). Without it, this one starts the others.
inline constexpr const char* kServeWorkloadArgument = "__serve-load";
inline constexpr const char* kClientsStarted = "clients-started";

/// The workload of `kind: serve`: reads its settings, puts the target under load, speaks the workload protocol; of
/// several clients only the first speaks it. SIGINT and SIGTERM end it. Returns the exit code: 0, or 1 after an `error`
/// event.
int serve_workload_main(int argc, char** argv, const TargetMaker& make_target);

}  // namespace assay
