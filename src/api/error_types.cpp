#include "api/error_types.h"

namespace assay {

template <>
const ApiEnum<ErrorKind>& api_enum() {
  using enum ErrorKind;
  static const auto words =
      named_enum<ErrorKind>("ErrorKind", "What kind of thing went wrong; docs/reference/errors.md has the list.",
                            {oom, nan, crash, lost_peer, timeout, interrupted, usage, bad_spec, missing_file, bad_file,
                             not_found, unsupported, no_device, no_engine, unreachable, denied, busy, io, internal});
  return words;
}

template <>
const ApiType<ErrorView>& api_type() {
  static const auto type = ApiType<ErrorView>("ErrorView", "What went wrong.")
                               .field("kind", &ErrorView::kind, "For programs")
                               .field("message", &ErrorView::message, "For people")
                               .field("hint", &ErrorView::hint, "What to do about it; may be empty");
  return type;
}

template <>
const ApiType<ErrorAnswer>& api_type() {
  static const auto type = ApiType<ErrorAnswer>("ErrorAnswer", "What a request is refused with.")
                               .field("error", &ErrorAnswer::error, "What is wrong");
  return type;
}

template <>
const ApiType<Done>& api_type() {
  static const ApiType<Done> type("Done", "It was done; there is nothing more to say.");
  return type;
}

}  // namespace assay
