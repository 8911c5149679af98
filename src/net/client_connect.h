#pragma once

#include <memory>

#include "base/result.h"
#include "net/stream.h"
#include "net/time_box.h"
#include "net/tls_stream.h"

namespace assay {

struct ClientOptions;
struct Url;

/// Connects to the URL's host or socket, one address after the other, and shakes hands where it is https. `tls` is
/// needed for https only. Gives up at `deadline`. Errors as in http_client.h.
IoTask<Result<std::unique_ptr<Stream>>> connect(const IoExecutor& executor, TimeBoxes& boxes, const Url& url,
                                                const ClientOptions& options, std::shared_ptr<TlsContext> tls,
                                                SteadyTime deadline);

}  // namespace assay
