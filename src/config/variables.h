#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace assay {

/// `ASSAY_SET_` and `lora.rank` → `ASSAY_SET_LORA_RANK`.
std::string variable_name(std::string_view prefix, std::string_view key);

/// What to say of a variable that begins with the prefix and belongs to no setting; names one of `known` if it is near.
std::string unknown_variable(std::string_view variable, std::string_view prefix, const std::vector<std::string>& known);

}  // namespace assay
