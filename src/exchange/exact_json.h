#pragma once

#include <string_view>
#include <vector>

#include "base/json.h"

namespace assay {

/// A JSON document from outside.
struct ImportedJson {
  json::value value;
  std::int64_t non_finite = 0;  ///< NaN and Infinity, which Python writes although JSON has no such thing; read as null
};

/// Like parse_json, but every number is the nearest double to what is written (Boost.JSON may be off by the last bit),
/// and the words NaN, Infinity and -Infinity are read as null and counted. At most 32 levels deep.
Result<ImportedJson> parse_exact_json(std::string_view text);

}  // namespace assay
