#pragma once

#include <optional>
#include <string_view>

namespace assay {

/// What a specification measures.
enum class SpecKind { train, serve, node, command, null };
std::string_view name_of(SpecKind kind);
std::optional<SpecKind> spec_kind_from(std::string_view name);

constexpr SpecKind kAllKinds[] = {SpecKind::train, SpecKind::serve, SpecKind::node, SpecKind::command, SpecKind::null};

/// A set of kinds: those that a setting belongs to.
class Kinds {
 public:
  constexpr Kinds(SpecKind kind)
      : bits_(1U << static_cast<unsigned>(kind)) {}  // Implicit: `SpecKind::train` reads well.
  constexpr Kinds operator|(Kinds other) const { return Kinds(bits_ | other.bits_); }
  constexpr bool has(SpecKind kind) const { return (bits_ & Kinds(kind).bits_) != 0; }
  constexpr bool overlaps(Kinds other) const { return (bits_ & other.bits_) != 0; }
  bool operator==(const Kinds&) const = default;

 private:
  constexpr explicit Kinds(unsigned bits) : bits_(bits) {}
  unsigned bits_;
};

constexpr Kinds kEveryKind =
    Kinds(SpecKind::train) | SpecKind::serve | SpecKind::node | SpecKind::command | SpecKind::null;

}  // namespace assay
