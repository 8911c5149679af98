#pragma once

#include <cstddef>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace assay {

/// Names and values in the order they were given; a name may come more than once.
using NamedValues = std::vector<std::pair<std::string, std::string>>;

/// HTTP header fields. Names are compared without regard to case.
class Headers {
 public:
  Headers() = default;
  Headers(std::initializer_list<NamedValues::value_type> fields) : fields_(fields) {}

  void add(std::string name, std::string value) { fields_.emplace_back(std::move(name), std::move(value)); }
  /// Replaces every field of that name.
  void set(std::string_view name, std::string value);
  /// The first field of that name. Points into this object.
  std::optional<std::string_view> find(std::string_view name) const;
  std::size_t count(std::string_view name) const;

  auto begin() const { return fields_.begin(); }
  auto end() const { return fields_.end(); }
  std::size_t size() const { return fields_.size(); }

 private:
  NamedValues fields_;
};

/// ASCII letters are compared without regard to case.
bool equal_ignoring_case(std::string_view a, std::string_view b);

}  // namespace assay
