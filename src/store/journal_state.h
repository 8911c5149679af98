#pragma once

#include <cstdint>
#include <string>

#include "store/journal/journal_owner.h"

namespace assay {

/// One of the journals of a run, as it is now.
struct JournalState {
  std::string name;
  std::uint64_t size = 0;
  JournalOwner owner = JournalOwner::finished;
};

}  // namespace assay
