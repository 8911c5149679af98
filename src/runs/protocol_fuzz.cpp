#include <cstdint>
#include <string_view>

#include "runs/recorder.h"
#include "support/collecting_writer.h"

// Whatever a workload prints or sends, recording it must not crash.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  assay::CollectingWriter writer;
  const assay::ManualClock clock;
  assay::RunRecorder recorder(writer, assay::TextMetrics::make({}).value(), {}, clock);
  // The same bytes through every door, cut at a place the input chooses.
  const std::size_t cut = size ? data[0] % size : 0;
  for (const std::string_view part : {input.substr(0, cut), input.substr(cut)}) {
    recorder.add_output(assay::OutputStream::out, part);
    recorder.add_output(assay::OutputStream::error, part);
    recorder.add_events(part);
  }
  recorder.close();
  return 0;
}
