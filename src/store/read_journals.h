#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace assay {

class JournalVisitor;
class RunStore;
struct JournalState;

/// How far a reader has come; opaque to its user. Default-made: the beginning.
struct JournalPosition {
  std::map<std::string, std::uint64_t> offsets;
};

/// Bytes of a journal, as `RunStore::read_frames` gives them.
using ReadFrames =
    std::function<Result<std::string>(std::string_view journal, std::uint64_t offset, std::size_t length)>;
/// Shows the visitor what is in these journals after `from`; series of the journal "rank-3" get the label rank=3.
Result<JournalPosition> read_journals(const std::vector<JournalState>& journals, const ReadFrames& read,
                                      JournalVisitor& visitor, JournalPosition from = {});
/// Shows the visitor everything recorded after `from`, the owner's journal first; returns where it stopped, to go on
/// from later.
Result<JournalPosition> read_journal(RunStore& store, std::string_view id, JournalVisitor& visitor,
                                     JournalPosition from = {});

}  // namespace assay
