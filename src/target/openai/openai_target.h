#pragma once

#include <memory>

#include "requests/request_set.h"
#include "target/openai/openai_options.h"
#include "target/target.h"

namespace assay {

/// A server, or several, that speak OpenAI's API, under load over HTTP/1.1: chat or completions, streamed or whole,
/// plain or TLS. Requests of an endless set are told apart by their id, those of a finite one by their sample.
/// `start` looks hosts up, checks every endpoint (`options.check`) and starts the event loops. Tokens are as the server
/// counts them in `usage`, else the number of chunks, which `facts` says. Retries only where `options.retries` allows
/// them; a request on a kept connection that the server had closed is sent once more in any case.
/// Error (`usage`): no endpoint, a weight that is not above 0, a header that is none.
Result<std::unique_ptr<Target>> make_openai_target(OpenAiOptions options, std::shared_ptr<const RequestSet> requests);

}  // namespace assay
