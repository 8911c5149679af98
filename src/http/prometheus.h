#pragma once

#include <string>

namespace assay {

class Leader;

/// The newest values of every node in the text format of Prometheus: GPUs under the names and units of NVIDIA's
/// dcgm-exporter, which dashboards know, everything else as `assay_…`. Values older than a minute and nodes that are
/// offline are left out; `assay_node_up` says which. Whatever an agent names its series, the page is valid and of a
/// bounded size; `assay_metrics_left_out` counts what had to go for that.
std::string prometheus_text(Leader& leader);

}  // namespace assay
