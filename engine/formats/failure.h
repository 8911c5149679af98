#pragma once

#include <stdexcept>
#include <string>
#include <utility>

namespace assay::engine {

/// Why a workload cannot go on. Thrown anywhere, caught in main, where it becomes an `error` event and an exit code.
/// The kinds are those of docs/reference/errors.md.
class Failure : public std::runtime_error {
 public:
  Failure(std::string kind, const std::string& message, std::string hint = {})
      : std::runtime_error(message), kind_(std::move(kind)), hint_(std::move(hint)) {}

  const std::string& kind() const { return kind_; }
  const std::string& hint() const { return hint_; }

 private:
  std::string kind_;
  std::string hint_;
};

/// The exit code of `assay` for an error kind: 2 the request is wrong, 3 this machine cannot, 1 anything else.
inline int exit_code_for(const std::string& kind) {
  if (kind == "bad_spec" || kind == "missing_file" || kind == "bad_file" || kind == "usage") return 2;
  if (kind == "unsupported" || kind == "no_device" || kind == "denied" || kind == "io" || kind == "busy") return 3;
  return 1;
}

}  // namespace assay::engine
