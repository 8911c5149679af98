#include "access/role.h"

#include <array>
#include <utility>

namespace assay {
namespace {

constexpr std::array kRoles = {
    std::pair{Role::agent, std::string_view("agent")},
    std::pair{Role::viewer, std::string_view("viewer")},
    std::pair{Role::user, std::string_view("user")},
    std::pair{Role::admin, std::string_view("admin")},
};

}  // namespace

std::string_view name_of(Role role) {
  for (const auto& [known, name] : kRoles) {
    if (known == role) return name;
  }
  return "";
}

std::optional<Role> role_from(std::string_view name) {
  for (const auto& [role, known] : kRoles) {
    if (known == name) return role;
  }
  return std::nullopt;
}

}  // namespace assay
