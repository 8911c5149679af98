#pragma once

#include <memory>
#include <string>

#include "base/clock.h"
#include "outlets/outlet.h"

namespace assay {

struct WebhookOptions {
  std::string url;  ///< gets a POST with a JSON body; must answer 2xx
  Nanos deadline = std::chrono::seconds(10);
  int attempts = 3;
  Nanos first_pause = std::chrono::seconds(1);  ///< before the second attempt; twice as long before each further one
};

/// `usage` for a URL that is none. A request that is under way when it is to stop is broken off.
Result<std::unique_ptr<Outlet>> make_webhook(WebhookOptions options);

}  // namespace assay
