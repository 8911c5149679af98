#pragma once

#include <string>

#include "base/json.h"

namespace assay {

/// Something found wrong or noteworthy about a result, by one rule, about one thing.
struct Flag {
  std::string kind;     ///< stable name for scripts: "left_processes", "non_finite"
  std::string about;    ///< what it is about: a metric, a node, a setting; may be empty
  std::string message;  ///< one sentence for people
  bool operator==(const Flag&) const = default;
};

/// Whether the figures of a run must not be used after it.
bool invalidates(const Flag& flag);

json::object to_json(const Flag& flag);
/// One entry of a list "flags"; what is wrong with it becomes a problem of `outer`, the object with that list.
Flag flag_from_json(const json::value& value, JsonFields& outer);

}  // namespace assay
