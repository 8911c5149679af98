#include "launch/place_text.h"

#include <fmt/format.h>

#include "base/text.h"
#include "base/units.h"

namespace assay {
namespace {

Error bad_place(std::string_view text, std::string_view rule) {
  return {.kind = ErrorKind::usage,
          .message = fmt::format("'--on {}': {}", printable(text), rule),
          .hint = "Write the kind of place, a colon, and names and options with commas: --on ssh:gpu01,gpu02"};
}

}  // namespace

Result<PlaceText> parse_place(std::string_view text) {
  PlaceText place;
  const auto colon = text.find(':');
  place.kind = trim(text.substr(0, colon));
  if (place.kind.empty()) return bad_place(text, "the kind of place is missing");
  if (colon == std::string_view::npos || trim(text.substr(colon + 1)).empty()) return place;
  for (const auto raw : split(text.substr(colon + 1), ',')) {
    const auto item = trim(raw);
    if (item.empty()) return bad_place(text, "there is nothing between two commas");
    const auto equals = item.find('=');
    if (equals == std::string_view::npos) {
      place.words.emplace_back(item);
      continue;
    }
    const std::string name(trim(item.substr(0, equals)));
    if (name.empty()) return bad_place(text, fmt::format("'{}' has no name", printable(item)));
    if (!place.options.emplace(name, trim(item.substr(equals + 1))).second) {
      return bad_place(text, fmt::format("'{}' stands twice", printable(name)));
    }
  }
  return place;
}

Result<void> check_options(const PlaceText& place, std::span<const std::string_view> known) {
  for (const auto& [name, value] : place.options) {
    if (contains(known, name)) continue;
    std::string message = fmt::format("'--on {}:': there is no option '{}'.", place.kind, printable(name));
    const std::vector<std::string> names(known.begin(), known.end());
    if (const auto meant = nearest(name, names)) message += fmt::format(" Did you mean '{}'?", *meant);
    return Error{.kind = ErrorKind::usage,
                 .message = std::move(message),
                 .hint = names.empty() ? "It has none." : fmt::format("It has {}.", join(names, ", "))};
  }
  return {};
}

std::string option_or(const PlaceText& place, const std::string& name, std::string_view fallback) {
  const auto found = place.options.find(name);
  return found == place.options.end() ? std::string(fallback) : found->second;
}

Result<Nanos> duration_option_or(const PlaceText& place, const std::string& name, Nanos fallback) {
  const auto found = place.options.find(name);
  if (found == place.options.end()) return fallback;
  auto parsed = parse_duration(found->second);
  if (parsed) return parsed;
  return Error{
      .kind = ErrorKind::usage,
      .message = fmt::format("'--on {}:{}={}' {}", place.kind, name, printable(found->second), parsed.error().message)};
}

}  // namespace assay
