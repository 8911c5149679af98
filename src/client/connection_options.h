#pragma once

#include <string>

#include "base/result.h"
#include "client/connection.h"
#include "net/client_options.h"
#include "net/headers.h"
#include "net/url.h"

namespace assay {

struct Connection::Options {
  Url url;
  std::string address;  ///< the same, as the user wrote it
  ClientOptions client;
  Headers headers;  ///< that every request carries: who asks
  /// What it means that the server does not know who asks (401), in contrast to what somebody may not (403): `denied`
  /// for whoever gave a command; for a service, which the server may know again, something that passes.
  ErrorKind unknown_caller = ErrorKind::denied;
};

}  // namespace assay
