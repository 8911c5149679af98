#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/result.h"

namespace assay {

/// How a workload that others ask for is kept from what is ours: from our files, and, where the kernel can do that,
/// from ending us.
struct Confinement {
  /// It can neither read nor change these, nor anything below them, whoever it runs as. What does not exist is passed
  /// over. In the folders above one of them nothing new can be made, since the kernel (Landlock) knows only what may be
  /// used, not what may not.
  std::vector<fs::path> hidden;
  std::string user;                                ///< to run as; empty: as we do
  std::map<std::string, std::string> environment;  ///< all of it, instead of ours
};

/// Whether programs that are confined are kept from signalling processes that are not, also those of their own user:
/// since Linux 6.12. Called by tests.
bool confinement_bars_signals();

/// Whether this process could confine itself so. `unsupported` or `denied`, with the reason and what to do about it.
Result<void> check_confinement(const Confinement& confinement);

/// Confines this process and whatever it starts from now on. For one with a single thread.
Result<void> confine_self(const Confinement& confinement);

/// What a program of that user finds in its environment: HOME, USER, LOGNAME, SHELL. `usage` if there is no such user.
Result<std::map<std::string, std::string>> environment_of_user(const std::string& user);

/// Makes a folder, and what is in it, that user's. Nothing happens for an empty name.
Result<void> hand_over(const fs::path& folder, const std::string& user);

}  // namespace assay
