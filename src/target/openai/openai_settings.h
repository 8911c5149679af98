#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/json.h"
#include "base/result.h"
#include "target/openai/openai_options.h"

namespace assay {

/// The value of an environment variable; nothing where it is not set.
using Environment = std::function<std::optional<std::string>(const std::string& name)>;

/// Options from the canonical settings of a specification (`target` and `model.name` of it); a setting that is not
/// there has the default of the specification. Reads the token's file (blocks). Errors: `bad_spec` (an address, a
/// variable that is not set, a header), `missing_file`, `denied`.
Result<OpenAiOptions> openai_options_of(const json::object& settings, const Environment& environment);

}  // namespace assay
