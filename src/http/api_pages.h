#pragma once

#include <string>

#include "base/json.h"

namespace assay {

// What is made from the OpenAPI document of a table (`ApiTable::document`) for others to read.

/// Types and routes for programs in TypeScript: web/src/api/types.ts. Called by tests, which write that file.
std::string typescript_of(const json::object& document);
/// The page for people: docs/reference/api.md.
std::string api_reference(const json::object& document);

}  // namespace assay
