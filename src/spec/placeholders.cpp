#include "spec/placeholders.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "config/numbers.h"

namespace assay {
namespace {

bool starts_name(char c) { return std::isalpha(static_cast<unsigned char>(c)) || c == '_'; }
bool continues_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

/// The name in `{name}` at the start of the text; empty if there is none.
std::string_view name_in_braces(std::string_view text) {
  if (text.size() < 3 || text[0] != '{' || !starts_name(text[1])) return {};
  const auto end = std::find_if_not(text.begin() + 1, text.end(), continues_name);
  if (end == text.end() || *end != '}') return {};
  return text.substr(1, static_cast<std::size_t>(end - text.begin()) - 1);
}

/// Splits a text into plain pieces and names, in order.
void scan(std::string_view text, const std::function<void(std::string_view)>& plain,
          const std::function<void(std::string_view)>& name) {
  std::size_t from = 0;
  for (std::size_t at = text.find('{'); at != std::string_view::npos; at = text.find('{', at)) {
    const bool for_the_shell = at > 0 && text[at - 1] == '$';
    const std::string_view escaped = at + 1 < text.size() ? name_in_braces(text.substr(at + 1)) : std::string_view();
    const std::size_t after_escaped = at + 1 + escaped.size() + 2;
    const std::string_view asked = name_in_braces(text.substr(at));
    if (!escaped.empty() && after_escaped < text.size() && text[after_escaped] == '}') {
      plain(text.substr(from, at - from));
      plain(text.substr(at + 1, escaped.size() + 2));
      from = at = after_escaped + 1;
    } else if (!asked.empty() && !for_the_shell) {
      plain(text.substr(from, at - from));
      name(asked);
      from = at = at + asked.size() + 2;
    } else {
      ++at;
    }
  }
  plain(text.substr(from));
}

}  // namespace

std::vector<std::string> placeholders_in(std::string_view text) {
  std::vector<std::string> names;
  scan(text, [](std::string_view) {}, [&](std::string_view name) { names.emplace_back(name); });
  return names;
}

std::string fill_in(std::string_view text,
                    const std::function<std::optional<std::string>(std::string_view)>& value_of) {
  std::string filled;
  scan(
      text, [&](std::string_view plain) { filled += plain; },
      [&](std::string_view name) { filled += value_of(name).value_or(fmt::format("{{{}}}", name)); });
  return filled;
}

std::optional<std::string> parameter_text(const json::object& settings, std::string_view name) {
  const json::value* value = nullptr;
  if (const json::value* params = settings.if_contains("params")) value = params->as_object().if_contains(name);
  if (!value && (name == "seed" || name == "ranks")) value = settings.if_contains(name);
  if (!value && name == "nodes") value = settings.if_contains("node_count");
  if (!value) return std::nullopt;
  if (value->is_string()) return std::string(value->get_string());
  if (value->is_bool()) return value->get_bool() ? "true" : "false";
  if (value->is_int64()) return fmt::format("{}", value->get_int64());
  return number_text(value->to_number<double>());
}

std::vector<std::string> parameter_names(const json::object& settings) {
  std::vector<std::string> names = {"seed", "ranks", "nodes"};
  if (const json::value* params = settings.if_contains("params")) {
    for (const auto& parameter : params->as_object()) names.emplace_back(parameter.key());
  }
  return names;
}

}  // namespace assay
