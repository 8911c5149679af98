#include "model/leader_status.h"

namespace assay {

std::string_view name_of(ProblemKind kind) {
  switch (kind) {
    case ProblemKind::storage: return "storage";
    case ProblemKind::damage: return "damage";
    case ProblemKind::refused: return "refused";
    case ProblemKind::clock: return "clock";
    case ProblemKind::limit: return "limit";
    case ProblemKind::outlet: return "outlet";
    case ProblemKind::certificate: return "certificate";
    case ProblemKind::fault: return "fault";
  }
  return "";
}

AlertSeverity usual_level(ProblemKind kind) {
  switch (kind) {
    case ProblemKind::storage:
    case ProblemKind::damage:
    case ProblemKind::clock:
    case ProblemKind::fault: return AlertSeverity::critical;
    case ProblemKind::refused:
    case ProblemKind::limit:
    case ProblemKind::outlet:
    case ProblemKind::certificate: return AlertSeverity::warning;
  }
  return AlertSeverity::critical;
}

}  // namespace assay
