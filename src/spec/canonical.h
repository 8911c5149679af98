#pragma once

#include <string_view>

#include "base/json.h"
#include "spec/spec_kind.h"

namespace assay {

/// Puts a canonical value into nested settings; a group's value replaces the whole group, and a member of a family
/// drops the others.
void put_setting(json::object& settings, SpecKind kind, std::string_view key, const json::value& value);

}  // namespace assay
