#pragma once

#include <string_view>

#include "base/json.h"
#include "spec/spec.h"

namespace assay {

struct Need;

/// Given settings with every default filled in, in the order of the table. What the other settings make meaningless
/// (`lora` where the task is another) is left out; the name of a set of limits becomes the limits of the model, if it
/// has some. `name` is used where the user gave none.
json::object complete_settings(SpecKind kind, const json::object& given, std::string_view name);

bool is_satisfied(const Need& need, const json::value* value);

}  // namespace assay
