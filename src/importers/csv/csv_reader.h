#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace assay {

/// Records of a CSV text by RFC 4180: cells in double quotes may hold separators, line ends and doubled quotes. Lenient
/// where files in the wild are: a quote inside a plain cell is a character like any other, line ends may be LF, CRLF or
/// CR, empty lines are skipped. The text must outlive the reader. Memory grows with the longest record alone.
class CsvReader {
 public:
  CsvReader(std::string_view text, char separator) : rest_(text), separator_(separator) {}

  /// The next record; false at the end. The cells stay valid until the next call.
  bool next(std::vector<std::string_view>& cells);

  std::int64_t line() const { return record_line_; }     ///< where the last record began, 1-based
  bool ended_by_newline() const { return by_newline_; }  ///< the last record
  bool ended_in_quotes() const { return in_quotes_; }    ///< the text ended inside a quoted cell
  bool ended_by_quote() const { return by_quote_; }      ///< the last cell of the last record was quoted, to its end

 private:
  std::string_view take_cell();
  std::string_view take_quoted_cell();

  std::string_view rest_;
  char separator_;
  std::deque<std::string> unescaped_;  ///< cells that are not in the text as they read
  std::int64_t line_ = 1;
  std::int64_t record_line_ = 0;
  bool record_ended_ = false;
  bool by_newline_ = false;
  bool in_quotes_ = false;
  bool by_quote_ = false;
};

/// The separator that cuts the first records most evenly: `,`, `;` or tab. `,` if there is but one column.
char sniff_separator(std::string_view text);

}  // namespace assay
