#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "base/assert.h"

namespace assay {

/// What went wrong, as users and scripts see it in `error.kind`. The names are a contract
/// (docs/reference/errors.md); each belongs to one exit code, see `exit_code_of`.
enum class ErrorKind {
  // The workload failed.
  oom,
  nan,
  crash,
  lost_peer,
  timeout,
  interrupted,
  // The request is wrong.
  usage,
  bad_spec,
  missing_file,
  bad_file,
  not_found,
  // This machine cannot.
  unsupported,
  no_device,
  no_engine,
  unreachable,
  denied,
  busy,
  io,
  internal,
};

std::string_view name_of(ErrorKind kind);
std::optional<ErrorKind> error_kind_from(std::string_view name);

/// A failure that was expected to be possible: what was being done, what went wrong, what to do about it.
struct [[nodiscard]] Error {
  ErrorKind kind = ErrorKind::internal;
  std::string message;               ///< what went wrong, without a final full stop
  std::string hint;                  ///< what the user can do about it; may be empty
  std::string at;                    ///< where: `bench.yaml:14:3`, a path, a node; may be empty
  std::vector<std::string> context;  ///< what was being done, outermost first

  /// Adds an outer layer: `error.within("starting run r-81")`.
  Error&& within(std::string doing) &&;
  /// `starting run r-81: node gpu03: NVML: driver/library version mismatch`
  std::string text() const;
};

/// An error made from errno, with the kind that fits it (ENOSPC, EACCES, ENOENT, …).
Error system_error(int error_number, std::string message);

/// Either a value or an Error. Must be looked at; reading the value of a failure is a programmer error.
template <typename T>
class [[nodiscard]] Result {
 public:
  using value_type = T;

  // Implicit on purpose: `return value;` and `return Error{…};` both read well.
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  T& value() & {
    ASSAY_ASSERT(ok());
    return *std::get_if<0>(&state_);
  }
  const T& value() const& {
    ASSAY_ASSERT(ok());
    return *std::get_if<0>(&state_);
  }
  T&& value() && { return std::move(value()); }

  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  Error& error() & {
    ASSAY_ASSERT(!ok());
    return *std::get_if<1>(&state_);
  }
  const Error& error() const& {
    ASSAY_ASSERT(!ok());
    return *std::get_if<1>(&state_);
  }
  Error&& error() && { return std::move(error()); }

  T value_or(T fallback) && { return ok() ? std::move(*this).value() : std::move(fallback); }

  /// Says what was being done, if it failed: `return open(path).within("reading journal");`
  /// By value: a reference to the temporary would dangle inside ASSAY_TRY.
  Result within(std::string doing) && {
    if (!ok()) std::move(error()).within(std::move(doing));
    return std::move(*this);
  }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  using value_type = void;

  Result() = default;
  Result(Error error) : error_(std::move(error)) {}

  bool ok() const { return !error_; }
  explicit operator bool() const { return ok(); }

  Error& error() & {
    ASSAY_ASSERT(!ok());
    return *error_;
  }
  const Error& error() const& {
    ASSAY_ASSERT(!ok());
    return *error_;
  }
  Error&& error() && { return std::move(error()); }

  Result within(std::string doing) && {
    if (!ok()) std::move(*error_).within(std::move(doing));
    return std::move(*this);
  }

 private:
  std::optional<Error> error_;
};

}  // namespace assay

#define ASSAY_CONCAT_(a, b) a##b
#define ASSAY_CONCAT(a, b) ASSAY_CONCAT_(a, b)

/// `ASSAY_TRY(auto file, open(path));` binds the value or returns the error from the enclosing function.
#define ASSAY_TRY(declaration, ...) ASSAY_TRY_(ASSAY_CONCAT(assay_result_, __LINE__), declaration, __VA_ARGS__)
#define ASSAY_TRY_(result, declaration, ...)          \
  auto&& result = (__VA_ARGS__);                      \
  if (!result.ok()) return std::move(result).error(); \
  declaration = std::move(result).value()

/// `ASSAY_CHECK(write(file, text));` returns the error of a Result<void> from the enclosing function.
#define ASSAY_CHECK(...)                                       \
  do {                                                         \
    if (auto assay_check = (__VA_ARGS__); !assay_check.ok()) { \
      return std::move(assay_check).error();                   \
    }                                                          \
  } while (false)
