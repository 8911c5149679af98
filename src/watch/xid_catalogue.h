#pragma once

#include <span>
#include <string>
#include <string_view>

namespace assay {

/// What is known of one of the faults that the driver reports by number.
struct XidEntry {
  int number = 0;
  std::string_view meaning;
  std::string_view remedy;
  bool of_program = false;  ///< mostly the program's own fault: no reason for an alert
};

/// In the order of their numbers.
std::span<const XidEntry> known_xids();
/// Null for a number that is not in it.
const XidEntry* find_xid(double number);
/// What it means and what to do; for unknown numbers, where to look.
std::string xid_remedy(double number);

}  // namespace assay
