#include "telemetry/metric_source.h"

#include "telemetry/reading.h"

namespace assay {

Result<Reading> MetricSource::read_everything(SteadyTime deadline) { return read(deadline); }

}  // namespace assay
