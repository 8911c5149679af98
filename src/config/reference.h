#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/setting.h"

namespace assay {

// The cells of a reference page's table of settings.

/// How values are written: the same section on every page about settings.
std::string_view value_types_section();

/// "whole number, at least 1", or the choices.
std::string type_cell(const Setting& setting);
/// The choices as code; `text:` as `text:PATH`.
std::string choice_words(const std::vector<std::string_view>& choices);
/// The default, or what happens without the setting.
std::string default_cell(const Setting& setting);
/// The description, what the setting needs, an example.
std::string meaning_cell(const Setting& setting);

}  // namespace assay
