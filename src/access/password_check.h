#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace assay {

/// Somebody else's book of passwords, such as a university's directory.
struct DirectoryEntry {
  std::string user;
  std::string name;
  std::vector<std::string> groups;
};

class PasswordDirectory {
 public:
  virtual ~PasswordDirectory() = default;

  /// Whether this is that user's password. Blocks up to its own deadline; any thread. `denied` for wrong password or
  /// unknown user (not told apart), `unreachable` when it could not be asked.
  virtual Result<DirectoryEntry> check(std::string_view user, std::string_view password) = 0;
};

}  // namespace assay
