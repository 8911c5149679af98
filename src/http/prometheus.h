#pragma once

#include <string>

#include "leader/leader.h"

namespace assay {

/// The newest values of every node in the text format of Prometheus: GPUs under the names and units of NVIDIA's
/// dcgm-exporter, which dashboards know, everything else as `assay_…`. Values older than a minute and nodes that are
/// offline are left out; `assay_node_up` says which.
std::string prometheus_text(Leader& leader);

}  // namespace assay
