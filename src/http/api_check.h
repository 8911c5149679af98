#pragma once

#include <vector>

#include "http/api_table.h"

namespace assay {

/// Whether a request has what an endpoint takes, and nothing else: what is misspelt must not be passed over, since the
/// rest of the request may mean much more without it. `usage`: a query parameter or key of the body that is not known,
/// stands there twice, is missing or of the wrong type. With `ignores_unknown` what is not known is passed over.
/// A body that is no JSON is not looked at.
Result<void> check_request(const ApiEndpoint& endpoint, const HttpRequest& request, bool ignores_unknown);

/// How many entries of a list are wanted: the parameter `limit`, from 1 to `most`; `usual` where it is not given.
Result<std::size_t> limit_of(const HttpRequest& request, std::size_t usual, std::size_t most);

/// The time in a query parameter as ISO 8601; nothing where it is not given.
Result<std::optional<WallTime>> time_of(const HttpRequest& request, std::string_view name);

}  // namespace assay
