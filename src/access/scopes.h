#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "access/role.h"

namespace assay {

/// One thing that somebody may do. An endpoint names the one that it needs.
enum class Scope {
  read,    ///< look at nodes, telemetry, events, alerts and runs
  run,     ///< start, stop, tag, import and delete runs; see what nodes were told to do
  alerts,  ///< acknowledge and silence them
  manage,  ///< drain, resume, command and forget nodes; erase telemetry
  admin,   ///< of the leader itself: backups, tokens
  join,    ///< let nodes join
  node,    ///< speak for one node
};

std::string_view name_of(Scope scope);
std::optional<Scope> scope_from(std::string_view name);

/// Any number of them.
class Scopes {
 public:
  constexpr Scopes() = default;
  constexpr Scopes(std::initializer_list<Scope> scopes) {
    for (const Scope scope : scopes) bits_ |= bit(scope);
  }
  constexpr bool has(Scope scope) const { return (bits_ & bit(scope)) != 0; }
  constexpr void add(Scope scope) { bits_ |= bit(scope); }
  constexpr bool operator==(const Scopes&) const = default;

 private:
  static constexpr std::uint32_t bit(Scope scope) { return std::uint32_t{1} << static_cast<unsigned>(scope); }
  std::uint32_t bits_ = 0;
};

/// What a role stands for.
Scopes scopes_of(Role role);
/// Which roles have a scope, for people who are to make a token.
std::vector<Role> roles_with(Scope scope);

}  // namespace assay
