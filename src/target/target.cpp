#include "target/target.h"

namespace assay {

std::string_view name_of(RequestOutcome outcome) {
  switch (outcome) {
    case RequestOutcome::ok: return "ok";
    case RequestOutcome::error: return "error";
    case RequestOutcome::timeout: return "timeout";
    case RequestOutcome::cancelled: return "cancelled";
    case RequestOutcome::lost: return "lost";
  }
  return "";
}

std::string_view name_of(RequestError error) {
  switch (error) {
    case RequestError::none: return "none";
    case RequestError::connect: return "connect";
    case RequestError::disconnected: return "disconnected";
    case RequestError::rejected: return "rejected";
    case RequestError::overloaded: return "overloaded";
    case RequestError::server: return "server";
    case RequestError::malformed: return "malformed";
    case RequestError::empty: return "empty";
    case RequestError::other: return "other";
  }
  return "";
}

}  // namespace assay
