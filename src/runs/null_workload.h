#pragma once

namespace assay {

/// First argument that makes the program the null workload. `main` calls `null_workload_main` when argv[1] is this.
inline constexpr const char* kNullWorkloadArgument = "__null-workload";

/// A workload that does nothing but speak the workload protocol, to measure assay itself. Further arguments:
/// steps=N, rate=EVENTS_PER_SECOND (0: as fast as it can), metrics_per_step=M.
int null_workload_main(int argc, char** argv);

}  // namespace assay
