#include "leader/test_agent_fixture.h"

#include "telemetry/reading.h"

namespace assay {

Batch TestAgent::batch(WallTime time, std::vector<Sample> samples) {
  Reading reading;
  reading.samples = std::move(samples);
  return batch(time, std::move(reading));
}

Batch TestAgent::batch(WallTime time, Reading reading) {
  builder_.add(time, std::move(reading));
  return builder_.take();
}

}  // namespace assay
