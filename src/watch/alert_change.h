#pragma once

#include "model/alert.h"

namespace assay {

/// An alert that was just raised or resolved.
struct AlertChange {
  enum class Kind { raised, resolved };
  Kind kind = Kind::raised;
  Alert alert;
};

}  // namespace assay
