#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "access/role.h"
#include "base/result.h"

namespace assay {

/// Who is in a group of a directory has a role here.
struct GroupRole {
  std::string group;  ///< its name, or its whole DN, or "*": everybody whom the directory knows
  Role role = Role::viewer;
  bool operator==(const GroupRole&) const = default;
};

/// Reads `gpu-admins=admin`, `cn=gpu-admins,ou=groups,dc=example,dc=org=admin`, `*=viewer`. `usage` for all else, the
/// role `agent` included: no person is one.
Result<GroupRole> parse_group_role(std::string_view text);

/// The greatest role that any of these groups gives, or nothing. Groups are DNs, as directories write them, or bare
/// names. A rule with a name fits a group whose DN begins with that name, wherever in the directory it stands; a rule
/// with a DN fits that one group. Small and capital letters are the same, as directories have it.
std::optional<Role> role_of_groups(std::span<const std::string> groups, std::span<const GroupRole> rules);

/// A DN (RFC 4514) in one form for each: small letters, no needless blanks, one way to escape. Nothing if it is none.
std::optional<std::string> normal_dn(std::string_view dn);
/// `GPU admins` of `cn=GPU admins,ou=groups,dc=example`: the value that a DN begins with. Nothing if it is none.
std::optional<std::string> first_name_of_dn(std::string_view dn);

}  // namespace assay
