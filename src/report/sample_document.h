#pragma once

#include <string>

#include "report/document.h"

namespace assay {

// For tests alone; defined in sample_document_test.cpp.

/// A scaling report as it really looks: every kind of block and chart is in it.
Document sample_document();
/// Every text in it is an attack on some format.
Document hostile_document();
/// What each text of the hostile document starts with.
std::string hostile_text();

}  // namespace assay
