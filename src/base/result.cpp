#include "base/result.h"

#include <array>
#include <cerrno>
#include <cstring>

namespace assay {
namespace {

struct KindName {
  ErrorKind kind;
  std::string_view name;
};

constexpr std::array kKindNames = {
    KindName{ErrorKind::oom, "oom"},
    KindName{ErrorKind::nan, "nan"},
    KindName{ErrorKind::crash, "crash"},
    KindName{ErrorKind::lost_peer, "lost_peer"},
    KindName{ErrorKind::timeout, "timeout"},
    KindName{ErrorKind::interrupted, "interrupted"},
    KindName{ErrorKind::usage, "usage"},
    KindName{ErrorKind::bad_spec, "bad_spec"},
    KindName{ErrorKind::missing_file, "missing_file"},
    KindName{ErrorKind::bad_file, "bad_file"},
    KindName{ErrorKind::not_found, "not_found"},
    KindName{ErrorKind::unsupported, "unsupported"},
    KindName{ErrorKind::no_device, "no_device"},
    KindName{ErrorKind::no_engine, "no_engine"},
    KindName{ErrorKind::unreachable, "unreachable"},
    KindName{ErrorKind::denied, "denied"},
    KindName{ErrorKind::busy, "busy"},
    KindName{ErrorKind::io, "io"},
    KindName{ErrorKind::internal, "internal"},
};

}  // namespace

std::string_view name_of(ErrorKind kind) {
  for (const auto& entry : kKindNames) {
    if (entry.kind == kind) return entry.name;
  }
  ASSAY_ASSERT(false);
}

std::optional<ErrorKind> error_kind_from(std::string_view name) {
  for (const auto& entry : kKindNames) {
    if (entry.name == name) return entry.kind;
  }
  return std::nullopt;
}

Error&& Error::within(std::string doing) && {
  context.insert(context.begin(), std::move(doing));
  return std::move(*this);
}

std::string Error::text() const {
  std::string text;
  for (const auto& layer : context) {
    text += layer;
    text += ": ";
  }
  return text + message;
}

Error system_error(int error_number, std::string message) {
  Error error{.kind = ErrorKind::io, .message = std::move(message) + ": " + std::strerror(error_number)};
  switch (error_number) {
    case ENOENT:
    case ENOTDIR: error.kind = ErrorKind::missing_file; break;
    case EACCES:
    case EPERM:
    case EROFS: error.kind = ErrorKind::denied; break;
    case ENOSPC:
    case EDQUOT: error.hint = "Free some space, or choose another folder with --data DIR."; break;
    default: break;
  }
  return error;
}

}  // namespace assay
