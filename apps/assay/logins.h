#pragma once

#include <optional>
#include <string>

#include "base/files.h"
#include "base/result.h"
#include "context.h"

namespace assay {

/// What `assay login` has left for later commands.
struct Login {
  std::string url;
  std::string user;
  std::string token;        ///< the secret
  std::string id;           ///< of the token, to revoke it by
  std::string fingerprint;  ///< of the leader's certificate; empty: the system's certificates vouch for it
};

/// $XDG_CONFIG_HOME/assay/logins or ~/.config/assay/logins, a file for each leader.
fs::path login_file(const Context& context, std::string_view url);
/// Nothing: nobody has signed in there. `denied` where others could read the file.
Result<std::optional<Login>> find_login(const Context& context, std::string_view url);
/// Into a file that only its owner can read; an earlier one is replaced.
Result<void> keep_login(const Context& context, const Login& login);
Result<void> forget_login(const Context& context, std::string_view url);

/// A line from the terminal, without showing it; from a pipe, its first line. `usage`: there is none.
Result<std::string> ask_secretly(std::string_view prompt);
/// The same, shown.
Result<std::string> ask_openly(std::string_view prompt);

}  // namespace assay
