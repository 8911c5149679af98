#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"

namespace assay {

/// The right to record a run and to change its state. Whoever takes a run after somebody else has a higher epoch, and
/// from then on the earlier owner is refused, whatever it still believes.
struct Lease {
  std::string run;
  std::string journal;  ///< the one it may append to; see `RunStore::journals`
  std::string owner;    ///< "gpu03", "pid 4711 on laptop"
  std::uint64_t epoch = 0;
  std::optional<WallTime> expires;  ///< absent: good for as long as the process that holds it lives
};

/// For whom a lease is, and for how long.
struct LeaseTerms {
  std::string owner;            ///< empty: this process
  std::optional<Nanos> length;  ///< absent: for as long as this process lives, or until it is given up
};

/// The name of the journal of a run's owner. Further processes of the same job have others: "rank-3".
inline constexpr std::string_view kOwnersJournal = "journal";

}  // namespace assay
