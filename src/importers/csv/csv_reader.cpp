#include "importers/csv/csv_reader.h"

#include <algorithm>
#include <array>

namespace assay {
namespace {

constexpr int kSniffedRecords = 20;
constexpr std::size_t kSniffedBytes = std::size_t{256} << 10;

}  // namespace

bool CsvReader::next(std::vector<std::string_view>& cells) {
  for (;;) {
    cells.clear();
    unescaped_.clear();
    if (rest_.empty()) return false;
    record_line_ = line_;
    record_ended_ = by_newline_ = false;
    while (!record_ended_) {
      by_quote_ = false;
      cells.push_back(rest_.starts_with('"') ? take_quoted_cell() : take_cell());
    }
    const bool empty_line = cells.size() == 1 && cells.front().empty();
    if (!empty_line) return true;
  }
}

/// Takes a plain cell and the separator or line end behind it.
std::string_view CsvReader::take_cell() {
  std::size_t end = 0;
  while (end < rest_.size() && rest_[end] != separator_ && rest_[end] != '\n' && rest_[end] != '\r') ++end;
  const std::string_view cell = rest_.substr(0, end);
  rest_.remove_prefix(end);
  if (rest_.empty()) {
    record_ended_ = true;
    return cell;
  }
  const bool line_end = rest_.front() != separator_;
  rest_.remove_prefix(rest_.starts_with("\r\n") ? 2 : 1);
  if (line_end) {
    record_ended_ = by_newline_ = true;
    ++line_;
  }
  return cell;
}

std::string_view CsvReader::take_quoted_cell() {
  rest_.remove_prefix(1);
  const std::string_view start = rest_;
  std::string* joined = nullptr;
  for (;;) {
    const std::size_t quote = rest_.find('"');
    const std::string_view part = rest_.substr(0, quote);
    line_ += std::count(part.begin(), part.end(), '\n');
    const bool doubled = quote != std::string_view::npos && rest_.substr(quote + 1).starts_with('"');
    if (doubled && !joined) {
      joined = &unescaped_.emplace_back();
      joined->append(start.substr(0, static_cast<std::size_t>(part.data() - start.data())));
    }
    if (joined) joined->append(part);
    if (quote == std::string_view::npos) {
      in_quotes_ = record_ended_ = true;
      rest_ = {};
      return joined ? std::string_view(*joined) : start;
    }
    rest_.remove_prefix(quote + 1);
    if (doubled) {
      *joined += '"';
      rest_.remove_prefix(1);
      continue;
    }
    const std::string_view quoted = start.substr(0, static_cast<std::size_t>(part.data() + part.size() - start.data()));
    const std::string_view behind = take_cell();
    by_quote_ = behind.empty();
    if (by_quote_) return joined ? std::string_view(*joined) : quoted;
    if (!joined) joined = &unescaped_.emplace_back(quoted);
    joined->append(behind);
    return *joined;
  }
}

char sniff_separator(std::string_view text) {
  char best = ',';
  double best_score = 0;
  for (const char separator : {',', ';', '\t'}) {
    CsvReader reader(text.substr(0, kSniffedBytes), separator);
    std::vector<std::string_view> cells;
    if (!reader.next(cells) || cells.size() < 2) continue;
    const std::size_t columns = cells.size();
    int records = 1;
    int even = 1;
    while (records < kSniffedRecords && reader.next(cells)) {
      ++records;
      if (cells.size() == columns) ++even;
    }
    const double score =
        static_cast<double>(even) / records + 1e-6 * static_cast<double>(std::min<std::size_t>(columns, 1000));
    if (score <= best_score) continue;
    best = separator;
    best_score = score;
  }
  return best;
}

}  // namespace assay
