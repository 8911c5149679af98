#include "access/scopes.h"

namespace assay {

std::string_view name_of(Scope scope) {
  switch (scope) {
    case Scope::read: return "read";
    case Scope::run: return "run";
    case Scope::alerts: return "alerts";
    case Scope::manage: return "manage";
    case Scope::admin: return "admin";
    case Scope::join: return "join";
    case Scope::node: return "node";
  }
  return "?";
}

std::optional<Scope> scope_from(std::string_view name) {
  using enum Scope;
  for (const Scope scope : {read, run, alerts, manage, admin, join, node}) {
    if (name_of(scope) == name) return scope;
  }
  return std::nullopt;
}

Scopes scopes_of(Role role) {
  switch (role) {
    case Role::agent: return {Scope::join};
    case Role::viewer: return {Scope::read};
    case Role::user: return {Scope::read, Scope::run, Scope::alerts};
    case Role::admin: return {Scope::read, Scope::run, Scope::alerts, Scope::manage, Scope::admin};
  }
  return {};
}

std::vector<Role> roles_with(Scope scope) {
  std::vector<Role> roles;
  for (const Role role : {Role::agent, Role::viewer, Role::user, Role::admin}) {
    if (scopes_of(role).has(scope)) roles.push_back(role);
  }
  return roles;
}

}  // namespace assay
