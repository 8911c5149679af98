#include "exchange/csv_cell.h"

namespace assay {

void append_csv_cell(std::string& out, std::string_view cell) {
  const bool blank_at_end = !cell.empty() && (cell.front() == ' ' || cell.back() == ' ');
  if (!blank_at_end && cell.find_first_of(",;\t\"\r\n") == std::string_view::npos) {
    out += cell;
    return;
  }
  out += '"';
  for (const char character : cell) {
    if (character == '"') out += '"';
    out += character;
  }
  out += '"';
}

}  // namespace assay
