#pragma once

#include "telemetry/metric_source.h"

namespace assay {

/// The descriptor on which a sensor that `make_sensor_source` started finds its requests and writes its answers. Not
/// one of the standard streams, since drivers' libraries print to those.
inline constexpr int kSensorChannel = 3;

/// Serves a source over two descriptors (or twice the same socket) until `in_fd` ends; returns the exit code. Answers
/// one request after the other on the calling thread. When the other side goes away while a reading hangs, the whole
/// process ends: nobody would ever read from it again. Meant to be all that a process does.
int run_sensor(int in_fd, int out_fd, MetricSource& source);

}  // namespace assay
