#pragma once

#include "report/document.h"

namespace assay {

// For tests alone.

/// A scaling report as it really looks: every kind of block and chart is in it.
Document sample_document();
/// Every text in it is an attack on some format.
Document hostile_document();

}  // namespace assay
