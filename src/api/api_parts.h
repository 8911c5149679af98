#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace assay {

/// A field of a struct: where in it, and how its value travels. No template, and one pair of functions for all fields
/// of one type: there are hundreds of fields, and what is compiled for each makes everybody wait.
struct ApiMember {
  enum class Presence { always, added, optional };
  std::string name = {};
  Presence presence = Presence::always;
  std::ptrdiff_t offset = 0;  ///< in bytes, from the beginning of the struct
  json::value (*write)(const void* member) = nullptr;
  /// What is wrong, or nothing.
  std::string (*read)(const json::value& json, void* member) = nullptr;
  /// Whether an optional one can be left out.
  bool (*is_as_new)(const void* member, const void* fresh) = nullptr;
};

/// Some fields of a struct at once.
struct ApiWhole {
  std::function<void(const void* value, json::object& into)> write;
  std::function<Result<void>(const json::object& from, void* value)> read;
};

/// The fields of a struct in their order. Whoever calls sees to it that the pointers are to that struct.
class ApiParts {
 public:
  void add(const char* name, ApiMember member);
  void add(ApiWhole whole);

  /// `fresh`: a new object, as optional fields are compared with it.
  json::object write(const void* value, const void* fresh) const;
  /// `bad_file` with the name of the field.
  Result<void> read(const json::object& from, void* value) const;

 private:
  std::vector<std::variant<ApiMember, ApiWhole>> parts_;
};

}  // namespace assay
