#pragma once

#include "serving/serve_load.h"

namespace assay {

/// The targets that `kind: serve` can put under load: `null` and servers that speak OpenAI's API.
Result<std::unique_ptr<Target>> make_serve_target(const ServeSettings& settings, const ServeRequests& requests);

}  // namespace assay
