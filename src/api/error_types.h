#pragma once

#include <string>

#include "api/api_type.h"
#include "base/result.h"

namespace assay {

/// What went wrong, as the API says it.
struct ErrorView {
  ErrorKind kind = ErrorKind::internal;
  std::string message;
  std::string hint;
};
struct ErrorAnswer {
  ErrorView error;
};
/// Of what was done and has nothing to say.
struct Done {};

template <>
const ApiEnum<ErrorKind>& api_enum();
template <>
const ApiType<ErrorView>& api_type();
template <>
const ApiType<ErrorAnswer>& api_type();
template <>
const ApiType<Done>& api_type();

}  // namespace assay
