#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"

namespace assay {

// Reading objects of the API: whatever is absent or of another type is as if it was not there, since versions of
// Kubernetes differ in what they send. For each, one for a value and one for an object: that one becomes the other
// would be a copy, into which pointers must not point.

using KubePath = std::initializer_list<std::string_view>;

/// The value at `status` `phase` and the like, or null. Points into `from`.
const json::value* kube_value(const json::value& from, KubePath path);
const json::value* kube_value(const json::object& from, KubePath path);
std::string kube_text(const json::value& from, KubePath path);
std::string kube_text(const json::object& from, KubePath path);
std::optional<std::int64_t> kube_integer(const json::value& from, KubePath path);
std::optional<std::int64_t> kube_integer(const json::object& from, KubePath path);
/// Empty where there is none.
const json::array& kube_array(const json::value& from, KubePath path);  // Called by tests.
const json::array& kube_array(const json::object& from, KubePath path);

}  // namespace assay
