#pragma once

#include <cstdint>

namespace assay {

/// Counts the changes of one row; 0 is a row that does not exist yet.
using Revision = std::int64_t;

/// A row as it was read, or as it is to be written: `revision` is the one that the change was made from. Whoever was
/// overtaken is refused with `busy`, reads again and decides anew.
template <typename Row>
struct Stored {
  Row row;
  Revision revision = 0;
};

}  // namespace assay
