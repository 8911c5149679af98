#pragma once

#include "base/result.h"
#include "target/openai/openai_options.h"

namespace assay {

/// Asks a server for its models and for one token, so that a wrong address, token or model is found before a load
/// starts. Blocks: seconds, at most `options.check_time` for each of the two answers. Errors say what to change:
/// `unreachable`, `denied` (token, certificate), `not_found` (path, model), `timeout`, `busy`, `usage` (the server
/// refuses a setting), `bad_file` (what answers does not speak OpenAI's API), `crash` (it fails).
Result<void> check_server(const OpenAiOptions& options, const OpenAiEndpoint& endpoint);

}  // namespace assay
