#include "access/ldap/ldap_filter.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/ascii.h"

namespace assay {
namespace {

constexpr std::string_view kUserPlace = "{user}";
constexpr std::string_view kDnPlace = "{dn}";

bool may_stand_in_filter(char c) {
  constexpr std::string_view kMeaning = "*()\\";
  // Bytes of other scripts could stay; escaped, they mean the same to every server, also where they are no text at all.
  return c >= ' ' && c <= '~' && kMeaning.find(c) == std::string_view::npos;
}

bool is_attribute_letter(char c) { return is_letter(c) || is_digit(c) || c == '-' || c == '.' || c == ';'; }

}  // namespace

std::string escape_filter_value(std::string_view value) {
  std::string text;
  for (const char c : value) {
    if (may_stand_in_filter(c)) {
      text += c;
    } else {
      text += fmt::format("\\{:02x}", static_cast<unsigned char>(c));
    }
  }
  return text;
}

std::string fill_filter(std::string_view filter, const FilterValues& values) {
  std::string text;
  while (!filter.empty()) {
    if (filter.starts_with(kUserPlace)) {
      text += escape_filter_value(values.user);
      filter.remove_prefix(kUserPlace.size());
    } else if (filter.starts_with(kDnPlace)) {
      text += escape_filter_value(values.dn);
      filter.remove_prefix(kDnPlace.size());
    } else {
      text += filter.front();
      filter.remove_prefix(1);
    }
  }
  return text;
}

std::vector<std::string> user_attributes(std::string_view filter) {
  constexpr std::string_view kCompared = "={user})";
  std::vector<std::string> names;
  for (auto at = filter.find(kCompared); at != std::string_view::npos; at = filter.find(kCompared, at + 1)) {
    auto begin = at;
    while (begin > 0 && is_attribute_letter(filter[begin - 1])) --begin;
    const std::string name(filter.substr(begin, at - begin));
    const bool is_whole = begin > 0 && filter[begin - 1] == '(' && !name.empty();
    if (is_whole && std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  return names;
}

}  // namespace assay
