#pragma once

#include <memory>

#include "base/json.h"
#include "base/result.h"
#include "requests/request_set.h"

namespace assay {

/// The set that the group `requests` of a specification's canonical settings asks for; a setting that is not there has
/// the default of the specification. Reads the files that it names (blocks). Errors: `bad_spec`, `missing_file`,
/// `bad_file`.
Result<std::unique_ptr<RequestSet>> requests_of_settings(const json::object& requests, const RequestSeed& seed);

}  // namespace assay
