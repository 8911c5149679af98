#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/files.h"
#include "base/result.h"
#include "requests/request_set.h"

namespace assay {

/// Reads requests of the user's own, one JSON object on each line:
///   {"prompt": "…" or "messages": [{"role": "user", "content": "…"}], "max_tokens": 64, "reference": "…"}
/// `max_tokens` and `reference` may be left out; without the former a request asks for `default_output_tokens` (0: what
/// the server does by itself). Other keys are passed over. A file without a request is an error; the error
/// (`bad_file`) names the first line that is wrong. All of it is kept in memory.
Result<std::unique_ptr<RequestSet>> parse_request_lines(std::string_view text, std::string name,
                                                        std::uint32_t default_output_tokens);
/// The same from a file of at most 1 GiB.
Result<std::unique_ptr<RequestSet>> read_request_file(const fs::path& path, std::uint32_t default_output_tokens);

}  // namespace assay
