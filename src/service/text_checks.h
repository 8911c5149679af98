#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "access/token_record.h"
#include "base/result.h"
#include "config/config_table.h"

namespace assay {

/// What a reader of texts has against one: its error as a sentence or two.
template <typename T>
TextCheck wrong_by(Result<T> (*read)(std::string_view)) {
  return [read](const std::string& text) -> std::optional<std::string> {
    const auto value = read(text);
    if (value) return std::nullopt;
    const Error& error = value.error();
    return error.message + (error.message.ends_with('.') ? "" : ".") + (error.hint.empty() ? "" : " " + error.hint);
  };
}

inline std::optional<std::string> wrong_node_name(const std::string& text) {
  if (is_node_name(text)) return std::nullopt;
  return "a node's name is 1 to 64 letters, digits, '-', '_' and '.'.";
}

}  // namespace assay
