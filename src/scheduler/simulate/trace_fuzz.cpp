// libFuzzer entry: whatever a trace holds, reading it ends with jobs that can be simulated or with a message.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "scheduler/simulate/trace_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const auto read : {assay::read_csv_trace, assay::read_sacct_trace}) {
    const auto trace = read(text, "trace");
    if (!trace) {
      if (trace.error().message.empty()) std::abort();
      continue;
    }
    double last = 0;
    for (const assay::TraceJob& job : trace->jobs) {
      if (!(job.seconds > 0) || !std::isfinite(job.seconds) || job.gpus < 1 || job.nodes < 1) std::abort();
      if (!(job.submitted >= last) || job.user >= trace->users.size() || job.name >= trace->names.size()) std::abort();
      if (job.model >= trace->models.size()) std::abort();
      last = job.submitted;
    }
  }
  return 0;
}
