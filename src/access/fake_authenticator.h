#pragma once

#include <map>
#include <string>
#include <utility>

#include "access/authenticator.h"

namespace assay {

/// For tests: knows whom it is told of.
class FakeAuthenticator final : public Authenticator {
 public:
  explicit FakeAuthenticator(std::map<std::string, Principal> by_bearer) : known(std::move(by_bearer)) {}

  Result<std::optional<Principal>> authenticate(const Claims& claims) override {
    if (broken) return Error{.kind = ErrorKind::io, .message = "out of order"};
    if (claims.bearer.empty()) return std::optional<Principal>();
    const auto found = known.find(claims.bearer);
    if (found == known.end()) return Error{.kind = ErrorKind::denied, .message = "unknown"};
    return std::optional(found->second);
  }

  std::map<std::string, Principal> known;
  bool broken = false;
};

}  // namespace assay
