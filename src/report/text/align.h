#pragma once

namespace assay {

/// Of a column.
enum class Align { left, right };

}  // namespace assay
