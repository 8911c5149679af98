#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "access/directory_roles.h"
#include "base/clock.h"
#include "base/files.h"
#include "base/result.h"

namespace assay {

/// How to ask a directory that speaks LDAP whose password is right: the settings `ldap.*` of a leader.
struct LdapSettings {
  std::string url;              ///< `ldaps://host` or `ldap://host`; empty: there is no directory
  bool start_tls = false;       ///< of `ldap://`: nothing is said before TLS
  fs::path ca_file;             ///< empty: those that the system's LDAP library trusts
  std::string bind_dn;          ///< who searches; empty: nobody in particular
  fs::path bind_password_file;  ///< readable by its owner alone
  std::string user_base;        ///< DN below which users are
  std::string user_filter = "(uid={user})";
  std::string group_base;  ///< DN below which groups are; empty: those of the user's attribute memberOf
  std::string group_filter = "(|(member={dn})(memberUid={user}))";
  std::vector<GroupRole> roles;
  Nanos timeout = std::chrono::seconds(10);  ///< for all that is asked about one password
};

struct LdapUrl {
  bool tls = false;  ///< `ldaps`: from the first byte on
  std::string host;  ///< without brackets
  std::uint16_t port = 0;
  /// `ldaps://ldap.example.org:636`
  std::string text() const;
  bool operator==(const LdapUrl&) const = default;
};

/// Scheme, host and, where it is not the scheme's own, port; nothing else may stand in it. `usage` for all else.
Result<LdapUrl> parse_ldap_url(std::string_view text);

/// A filter (RFC 4515) with places for what is asked for: parentheses around it that match, `{user}` in that for users,
/// `{user}` or `{dn}` in that for groups, no other braces. The text as it is, else `usage`. Whether the directory takes
/// it is for the directory to say.
Result<std::string> parse_user_filter(std::string_view text);
Result<std::string> parse_group_filter(std::string_view text);

/// What is wrong between settings: in whole sentences, with what to do.
struct LdapMistake {
  std::string_view key;    ///< `ldap.start_tls`
  std::string_view other;  ///< that it does not go with
  std::string message;
};
/// None for settings that can be used, or where there is no directory and nothing is said of one.
std::vector<LdapMistake> mistakes_between(const LdapSettings& settings);

}  // namespace assay
