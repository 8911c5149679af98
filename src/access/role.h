#pragma once

#include <optional>
#include <string_view>

namespace assay {

/// What the bearer of a token may do, under one name: see scopes.h.
enum class Role { agent, viewer, user, admin };

std::string_view name_of(Role role);
std::optional<Role> role_from(std::string_view name);

}  // namespace assay
