#include "importers/csv/metrics_csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <set>

#include "base/files.h"
#include "base/text.h"
#include "exchange/encoding.h"
#include "importers/csv/csv_columns.h"
#include "importers/csv/csv_names.h"
#include "importers/csv/csv_numbers.h"
#include "importers/csv/csv_reader.h"
#include "importers/text/figure.h"
#include "model/metric.h"

namespace assay {
namespace {

constexpr std::size_t kMostColumns = 4'000'000;      ///< of all runs together
constexpr double kLargestStep = 9007199254740992.0;  // 2⁵³
constexpr std::size_t kLongestCsvText = 200;
constexpr std::string_view kParams = "params.";
/// Seconds that no wall clock shows any more: 1973.
constexpr std::int64_t kEarliestTimestamp = std::int64_t{100'000'000} * 1'000'000'000;

/// One column of one run, while it is read.
struct Column {
  std::size_t cell = 0;
  std::string title;
  std::vector<SeriesPoint> points;
  std::int64_t texts = 0;
  std::int64_t first_text_line = 0;
  std::string first_text;
};

/// A fault that occurs in many rows is one flag: how often, and where first.
struct Counted {
  std::int64_t count = 0;
  std::int64_t first_line = 0;
  void add(std::int64_t line) {
    if (count++ == 0) first_line = line;
  }
};

std::optional<std::int64_t> integer_in(std::string_view cell) {
  cell = trim(cell);
  std::int64_t value = 0;
  const auto [end, code] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  if (code != std::errc() || end != cell.data() + cell.size()) return std::nullopt;
  return value;
}

class MetricsCsv {
 public:
  MetricsCsv(std::string_view text, std::string_view name, const CsvOptions& options) : text_(text), name_(name) {
    // Excel writes its separator into a line of its own.
    if (text_.starts_with("sep=") && text_.size() > 5 && (text_[5] == '\n' || text_[5] == '\r')) {
      import_.separator = text_[4];
      text_.remove_prefix(std::min(text_.find('\n'), text_.size() - 1) + 1);
    } else if (!text_.starts_with("step,time_ns") && !text_.starts_with("run,step,time_ns")) {
      import_.separator = options.separator.value_or(sniff_separator(text_));
    }
  }

  Result<CsvImport> read() {
    ASSAY_CHECK(read_header());
    look_at_numbers();
    read_rows();
    ASSAY_CHECK(close());
    return std::move(import_);
  }

 private:
  Error bad(std::string message, std::string hint = "") const {
    return Error{.kind = ErrorKind::bad_file,
                 .message = fmt::format("'{}' {}", name_, message),
                 .hint = std::move(hint),
                 .at = name_};
  }
  void flag(std::string_view kind, std::string message) {
    import_.flags.push_back({std::string(kind), name_, std::move(message)});
  }

  Result<void> read_header() {
    CsvReader reader(text_, import_.separator);
    std::vector<std::string_view> cells;
    if (!reader.next(cells)) return bad("is empty");
    const bool only_numbers =
        std::all_of(cells.begin(), cells.end(), [](auto cell) { return sole_number(cell).has_value(); });
    if (only_numbers)
      return bad("has no header: its first line has numbers only", "Name the columns in the first line.");
    if (reader.ended_in_quotes()) return bad("ends inside the quotes of its header");
    titles_.assign(cells.begin(), cells.end());
    columns_ = find_columns(titles_);
    import_.layout = columns_.layout;
    if (!own()) name_duplicates();
    for (const std::size_t i : columns_.ignored) import_.ignored_columns.push_back(printable(titles_[i]));
    return {};
  }

  void name_duplicates() {
    std::map<std::string, int> seen;
    for (auto& title : titles_) {
      title = printable(trim(title));
      const int count = ++seen[title];
      if (count == 1) continue;
      flag("duplicate_column", fmt::format("there are several columns '{}'; the later ones get a number", title));
      title += fmt::format(" ({})", count);
    }
  }

  /// Only files with commas inside of cells leave a doubt about how numbers are written.
  void look_at_numbers() {
    if (own() || text_.find(import_.separator == ',' ? '"' : ',') == std::string_view::npos) return;
    CsvReader reader(text_, import_.separator);
    std::vector<std::string_view> cells;
    reader.next(cells);
    while (reader.next(cells)) {
      for (const auto cell : cells) style_.look_at(cell);
    }
    import_.decimal_comma = style_.decimal_comma();
    if (style_.ambiguous()) {
      flag("ambiguous_number", "a comma may be decimal or between thousands; numbers with a comma are not read");
    }
  }

  void read_rows() {
    CsvReader reader(text_, import_.separator);
    std::vector<std::string_view> cells;
    reader.next(cells);
    // Series without points come back as such.
    if (own() && !columns_.run) columns_of("");
    while (reader.next(cells)) {
      const bool last = !reader.ended_by_newline();
      const bool cut = reader.ended_in_quotes() || (last && (own() || cells.size() < titles_.size()));
      if (cut) {
        flag("cut_file", fmt::format("the file ends within line {}; that line is not used", reader.line()));
        break;
      }
      line_ = reader.line();
      if (last && !reader.ended_by_quote()) {
        flag("no_line_end",
             fmt::format("the file ends without a line end; the last value of line {} may be cut", line_));
      }
      ++import_.rows;
      if (cells.size() != titles_.size()) ragged_.add(line_);
      take_row(cells);
    }
  }

  void take_row(const std::vector<std::string_view>& cells) {
    const auto cell = [&](std::optional<std::size_t> at) {
      return at && *at < cells.size() ? cells[*at] : std::string_view{};
    };
    const SeriesPoint place{.time_ns = time_of(cell(columns_.time)), .step = step_of(cell(columns_.step))};
    const std::string numbered = columns_.row_per_run ? std::to_string(import_.rows) : std::string();
    const std::string_view run = columns_.row_per_run ? std::string_view(numbered) : trim(cell(columns_.run));
    if (columns_.layout == CsvLayout::tall) {
      const std::string metric(trim(cell(columns_.metric)));
      if (metric.empty()) return;
      Column* column = tall_column(run, metric);
      return column ? take_cell(*column, cell(columns_.value), place) : too_many_runs_.add(line_);
    }
    std::vector<Column>* columns = columns_of(run);
    if (!columns) return too_many_runs_.add(line_);
    for (auto& column : *columns) {
      if (column.cell < cells.size()) take_cell(column, cells[column.cell], place);
    }
    if (columns_.row_per_run) take_table_row(cells, rows_of_table_[std::string(run)]);
  }

  /// What a table of runs says of one beside its metrics.
  void take_table_row(const std::vector<std::string_view>& cells, CsvRun& run) {
    const auto cell = [&](std::optional<std::size_t> at) {
      return at && *at < cells.size() ? trim(cells[*at]) : std::string_view{};
    };
    run.from_table = true;
    run.name = printable(cell(columns_.run));
    run.status = printable(cell(columns_.status).substr(0, kLongestCsvText));
    if (const auto created = cell(columns_.created); !is_missing(created)) run.created_ns = time_from_cell(created);
    if (const auto ended = cell(columns_.ended); !is_missing(ended)) run.ended_ns = time_from_cell(ended);
    for (const std::size_t i : columns_.settings) {
      const std::string_view value = cell(i);
      if (!is_missing(value))
        run.settings[titles_[i].substr(kParams.size())] = printable(value.substr(0, kLongestCsvText));
    }
    for (const std::size_t i : columns_.metrics) {
      const std::string_view value = cell(i);
      if (!is_missing(value) && !style_.read(value))
        run.texts[titles_[i]] = printable(value.substr(0, kLongestCsvText));
    }
  }

  void take_cell(Column& column, std::string_view cell, SeriesPoint point) {
    const auto number = own() ? own_number(cell) : style_.read(cell);
    if (number) {
      point.value = *number;
      column.points.push_back(point);
    } else if (!is_missing(cell)) {
      if (column.texts++ == 0) {
        column.first_text_line = line_;
        column.first_text = printable(cell.substr(0, 40));
      }
    }
  }

  static std::optional<double> own_number(std::string_view cell) {
    const auto number = sole_number(cell);
    return number ? std::optional(number->value) : std::nullopt;
  }

  std::int64_t step_of(std::string_view cell) {
    if (!columns_.step || is_missing(cell)) return kNoStep;
    if (const auto whole = integer_in(cell)) return *whole;
    const auto number = style_.read(cell);
    if (number && std::abs(*number) <= kLargestStep && *number == std::trunc(*number))
      return static_cast<std::int64_t>(*number);
    not_whole_steps_.add(line_);
    return kNoStep;
  }

  std::int64_t time_of(std::string_view cell) {
    if (!columns_.time || is_missing(cell)) return 0;
    std::optional<std::int64_t> time;
    switch (columns_.time_kind) {
      case CsvColumns::TimeKind::nanoseconds: time = integer_in(cell); break;
      case CsvColumns::TimeKind::timestamp: time = time_from_cell(cell); break;
      default:
        if (const auto seconds = style_.read(cell); seconds && std::abs(*seconds) < 9e9)
          time = static_cast<std::int64_t>(std::llround(*seconds * 1e9));
    }
    if (!time) bad_times_.add(line_);
    if (time) latest_ = std::max(latest_, *time);
    return time.value_or(0);
  }

  /// The columns of one run; all rows are of one run where no column names it. Null if there are too many runs.
  std::vector<Column>* columns_of(std::string_view run) {
    const auto known = runs_.find(run);
    if (known != runs_.end()) return &known->second;
    if ((runs_.size() + 1) * (columns_.metrics.size() + 1) > kMostColumns && !runs_.empty()) return nullptr;
    auto& columns = runs_[std::string(run)];
    order_.emplace_back(run);
    if (columns_.layout == CsvLayout::tensorboard) {
      const auto named = tensorboard_name(name_);
      columns.push_back(Column{.cell = *columns_.value, .title = named ? named->tag : fs::path(name_).stem().string()});
    }
    for (const std::size_t i : columns_.metrics) columns.push_back(Column{.cell = i, .title = titles_[i]});
    return &columns;
  }

  Column* tall_column(std::string_view run, const std::string& metric) {
    std::vector<Column>* columns = columns_of(run);
    if (!columns) return nullptr;
    const auto [place, added] = tall_places_.try_emplace({std::string(run), metric}, columns->size());
    if (added) columns->push_back(Column{.title = printable(metric)});
    return &(*columns)[place->second];
  }

  Result<void> close() {
    bool any_number = false;
    for (const auto& run : order_) {
      CsvRun imported{.name = printable(run)};
      if (const auto row = rows_of_table_.find(run); row != rows_of_table_.end()) imported = std::move(row->second);
      if (columns_.layout == CsvLayout::tensorboard) {
        if (const auto named = tensorboard_name(name_)) imported.name = printable(named->run);
      }
      for (auto& column : runs_.find(run)->second) {
        any_number |= !column.points.empty();
        close_column(column, imported);
      }
      if (columns_.run_in_titles) {
        distribute(std::move(imported));
      } else {
        import_.runs.push_back(std::move(imported));
      }
    }
    for (auto& run : import_.runs) settle_bounds(run);
    if (!own()) settle_percent();
    if (import_.rows > 0 && !any_number && !own()) {
      return bad(fmt::format("has no column of numbers, if '{}' separates its columns", import_.separator));
    }
    flag_rows();
    import_.relative_time = columns_.time_kind == CsvColumns::TimeKind::runtime ||
                            (columns_.time_kind == CsvColumns::TimeKind::timestamp && latest_ < kEarliestTimestamp);
    return {};
  }

  void close_column(Column& column, CsvRun& run) {
    if (own()) {
      if (columns_.run && column.points.empty()) return;  // a series of another run
      auto title = read_series_title(column.title);
      SeriesWithPoints series{.key = SeriesKey{.name = column.title}, .points = std::move(column.points)};
      if (title) std::tie(series.key, series.unit) = *std::move(title);
      run.series.push_back(std::move(series));
    } else if (column.points.empty()) {
      if (ignored_.insert(column.title).second) import_.ignored_columns.push_back(column.title);
      return;
    } else {
      run.series.push_back(
          {.key = SeriesKey{.name = column.title}, .source_name = column.title, .points = std::move(column.points)});
    }
    if (column.texts > 0) {
      flag("not_a_number",
           fmt::format("column '{}': {} cells are no numbers, first '{}' in line {}", printable(column.title),
                       column.texts, column.first_text, column.first_text_line));
    }
  }

  /// `run - metric` columns belong to that run.
  void distribute(CsvRun all) {
    std::map<std::string, std::size_t> places;
    for (auto& series : all.series) {
      const std::size_t dash = series.key.name.rfind(" - ");
      const std::string run = series.key.name.substr(0, dash);
      series.key.name = series.key.name.substr(dash + 3);
      const auto [place, added] = places.try_emplace(run, import_.runs.size());
      if (added) import_.runs.push_back(CsvRun{.name = run});
      import_.runs[place->second].series.push_back(std::move(series));
    }
  }

  /// Weights & Biases adds `…__MIN` and `…__MAX` to each column; mostly they say the same as the column itself.
  void settle_bounds(CsvRun& run) {
    if (own()) return;
    std::map<std::string, std::size_t, std::less<>> plain;
    for (std::size_t i = 0; i < run.series.size(); ++i) plain.emplace(run.series[i].key.name, i);
    for (auto& series : run.series) {
      for (const auto& [ending, bound] : {std::pair{"__MIN", "min"}, std::pair{"__MAX", "max"}}) {
        if (!series.key.name.ends_with(ending)) continue;
        const auto base = plain.find(std::string_view(series.key.name).substr(0, series.key.name.size() - 5));
        if (base == plain.end()) continue;
        if (same_values(series, run.series[base->second])) series.points.clear();
        series.key.labels["bound"] = bound;
        series.key.name.resize(series.key.name.size() - 5);
        break;
      }
    }
    std::erase_if(run.series, [](const SeriesWithPoints& series) { return series.points.empty(); });
    // Where two columns mean the same, the second keeps its own name.
    std::set<SeriesKey> taken;
    for (auto& series : run.series) {
      const CsvTitle title = read_csv_title(series.key.name);
      SeriesKey known{std::string(metric_for_title(title.metric)), series.key.labels};
      if (known.name.empty()) known.name = title.metric;
      if (taken.insert(known).second) series.key = std::move(known);
    }
  }

  /// A share is stored as 0…1. Whoever writes 95.5 without saying so means percent, and all values of that metric,
  /// those of other runs included.
  void settle_percent() {
    struct Share {
      double lowest = 0;
      double highest = 0;
      bool said = false;
      std::string column;
    };
    std::map<std::string, Share> shares;
    for_each_series([&](const SeriesWithPoints& series) {
      const MetricInfo* info = find_metric(series.key.name);
      const bool said = read_csv_title(series.source_name).percent;
      if (!said && (!info || info->unit != "ratio")) return;
      Share& share = shares.try_emplace(series.key.name, Share{.column = series.source_name}).first->second;
      share.said |= said;
      for (const auto& point : series.points) {
        if (!std::isfinite(point.value)) continue;
        share.lowest = std::min(share.lowest, point.value);
        share.highest = std::max(share.highest, point.value);
      }
    });
    std::erase_if(shares, [](const auto& entry) {
      const Share& share = entry.second;
      return share.lowest < 0 || share.highest > 100 || (!share.said && share.highest <= 1);
    });
    for_each_series([&](SeriesWithPoints& series) {
      if (!shares.contains(series.key.name)) return;
      for (auto& point : series.points) point.value /= 100;
    });
    for (const auto& [name, share] : shares) {
      if (share.said) continue;
      flag("percent_assumed",
           fmt::format("'{}' has values above 1; all of it was taken as percent", printable(share.column)));
    }
  }

  template <typename Take>
  void for_each_series(Take&& take) {
    for (auto& run : import_.runs) {
      for (auto& series : run.series) take(series);
    }
  }

  static bool same_values(const SeriesWithPoints& a, const SeriesWithPoints& b) {
    return std::equal(a.points.begin(), a.points.end(), b.points.begin(), b.points.end(),
                      [](const auto& x, const auto& y) {
                        return x.value == y.value || (std::isnan(x.value) && std::isnan(y.value));
                      });
  }

  void flag_rows() {
    if (too_many_runs_.count > 0) {
      flag("too_many_runs", fmt::format("{} rows from line {} on are of more runs than can be read at once",
                                        too_many_runs_.count, too_many_runs_.first_line));
    }
    if (import_.rows == 0 && !own()) flag("no_rows", "there is a header and nothing below it");
    if (ragged_.count > 0) {
      flag("ragged_rows", fmt::format("{} rows have more or fewer cells than the header's {}, first line {}",
                                      ragged_.count, titles_.size(), ragged_.first_line));
    }
    if (not_whole_steps_.count > 0) {
      flag("no_step",
           fmt::format("'{}' is no whole number in {} rows, first line {}; their points have no step",
                       printable(titles_[*columns_.step]), not_whole_steps_.count, not_whole_steps_.first_line));
    }
    if (bad_times_.count > 0) {
      flag("no_time", fmt::format("'{}' is no time in {} rows, first line {}", printable(titles_[*columns_.time]),
                                  bad_times_.count, bad_times_.first_line));
    }
  }

  bool own() const { return columns_.layout == CsvLayout::assay; }

  std::string_view text_;
  std::string name_;
  CsvImport import_;
  std::vector<std::string> titles_;
  CsvColumns columns_;
  NumberStyle style_;
  std::map<std::string, std::vector<Column>, std::less<>> runs_;
  std::vector<std::string> order_;                            ///< runs by their first row
  std::map<std::string, CsvRun, std::less<>> rows_of_table_;  ///< without their series
  std::map<std::pair<std::string, std::string>, std::size_t> tall_places_;
  std::int64_t line_ = 0;
  std::int64_t latest_ = 0;
  std::set<std::string> ignored_;
  Counted too_many_runs_;
  Counted ragged_;
  Counted not_whole_steps_;
  Counted bad_times_;
};

}  // namespace

std::string_view name_of(CsvLayout layout) {
  switch (layout) {
    case CsvLayout::assay: return "assay";
    case CsvLayout::wide: return "wide";
    case CsvLayout::tall: return "tall";
    case CsvLayout::tensorboard: return "tensorboard";
  }
  return "";
}

Result<CsvImport> parse_metrics_csv(std::string_view bytes, std::string_view name, const CsvOptions& options) {
  ASSAY_TRY(auto looked, look_at_bytes(bytes, name));
  ASSAY_TRY(auto import, MetricsCsv(looked.text, name, options).read());
  import.flags.insert(import.flags.begin(), looked.flags.begin(), looked.flags.end());
  return import;
}

}  // namespace assay
