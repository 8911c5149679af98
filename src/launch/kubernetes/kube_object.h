#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"

namespace assay {

// Reading objects of the API: whatever is absent or of another type is as if it was not there, since versions of
// Kubernetes differ in what they send.

/// The value at `status` `phase` and the like, or null. Points into `from`.
const json::value* kube_value(const json::value& from, std::initializer_list<std::string_view> path);
std::string kube_text(const json::value& from, std::initializer_list<std::string_view> path);
std::optional<std::int64_t> kube_integer(const json::value& from, std::initializer_list<std::string_view> path);
/// Empty where there is none.
const json::array& kube_array(const json::value& from, std::initializer_list<std::string_view> path);

}  // namespace assay
