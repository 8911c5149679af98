#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace assay {

/// What a filter asks for.
struct FilterValues {
  std::string_view user;
  std::string_view dn = {};
};

/// A text as a value in a filter (RFC 4515): whatever it holds, it can only ever be compared.
std::string escape_filter_value(std::string_view value);

/// Puts the values, escaped, in the place of `{user}` and `{dn}`. Braces within the values stay what they are.
std::string fill_filter(std::string_view filter, const FilterValues& values);

/// The attributes that a filter compares with `{user}` as a whole, in its order: `uid`, `mail` of
/// `(|(uid={user})(mail={user}))`.
std::vector<std::string> user_attributes(std::string_view filter);

}  // namespace assay
