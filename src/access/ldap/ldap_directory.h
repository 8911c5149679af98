#pragma once

#include <memory>

#include "access/ldap_settings.h"
#include "access/password_check.h"
#include "base/result.h"

namespace assay {

/// A directory that is asked by LDAP: it is searched for the user, and then the user's password tried on what was
/// found. One connection for each question, on the thread that asks, within `timeout` in all (beside the look-up of the
/// host's name, which is the system's). A question with an empty password, or one that no directory could have, is
/// refused without asking: directories take an empty password for a greeting and say yes. So is a user who is found
/// twice. `DirectoryEntry::user` is spelled as the directory does, however it was typed: the value of the first
/// attribute in `user_filter`. `name` may be empty. `groups` are DNs.
///
/// Reads the password of `bind_dn` and the certificates of authorities, and connects to nobody yet. Errors: `usage` for
/// settings that do not fit together, those of `read_secret_file`, `unsupported` where there is no LDAP library,
/// `unreachable` where the library cannot use what is set.
Result<std::unique_ptr<PasswordDirectory>> make_ldap_directory(const LdapSettings& settings);

}  // namespace assay
