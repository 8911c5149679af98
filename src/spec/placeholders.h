#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace assay {

/// The names that `{name}` in a text asks for, in order. `{{name}}` stands for the text `{name}`, and `${name}` is left
/// to the shell. Braces around anything but a name are plain text.
std::vector<std::string> placeholders_in(std::string_view text);

/// Replaces every placeholder by what `value_of` gives for its name; one without a value stays as it is.
std::string fill_in(std::string_view text, const std::function<std::optional<std::string>(std::string_view)>& value_of);

/// The value of a parameter for a command that is to run with these complete settings. Besides `params` there are
/// `{seed}`, `{ranks}` and `{nodes}`, the number of nodes.
std::optional<std::string> parameter_text(const json::object& settings, std::string_view name);

/// The names that `parameter_text` knows.
std::vector<std::string> parameter_names(const json::object& settings);

}  // namespace assay
