#pragma once

#include <string_view>

namespace assay {

/// How sure a name makes us that its value is a secret.
enum class NameVerdict {
  plain,
  maybe,   ///< "token": a credential, or a piece of text; the value decides
  secret,  ///< "password", "api_key", "HF_TOKEN"
};

/// Judges a name as found in `name=value`, `--name value` or `"name": value`: words are told apart by `_`, `-`, `.` and
/// capitals. Looks at no more than the last 128 characters.
NameVerdict judge_name(std::string_view name);

/// What nobody would use as a credential: nothing, true, false, none, null, and for a token also a small number.
bool is_harmless_value(std::string_view name, std::string_view value);

}  // namespace assay
