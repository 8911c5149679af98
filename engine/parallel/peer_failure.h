#pragma once

#include <string>

#include "formats/failure.h"

namespace assay::engine {

/// Another rank ended, so this one cannot go on. The kind is `lost_peer` if it died without a word, else the kind that
/// it told before it ended (`Group::fail`).
class PeerFailure : public Failure {
 public:
  PeerFailure(const std::string& kind, const std::string& message, const std::string& hint, int rank, bool reports)
      : Failure(kind, message, hint), rank_(rank), reports_(reports) {}

  int rank() const { return rank_; }
  /// Whether this process is the one that writes the run's `error` event: rank 0; if that died, the lowest rank that
  /// is left (as far as can be known: a host that vanished took all its ranks along); nobody if rank 0 told the reason
  /// itself.
  bool reports() const { return reports_; }

 private:
  int rank_;
  bool reports_;
};

}  // namespace assay::engine
