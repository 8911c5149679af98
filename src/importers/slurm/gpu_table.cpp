#include "importers/slurm/gpu_table.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"

namespace assay {
namespace {

constexpr double kMebibyte = 1024.0 * 1024.0;
constexpr std::size_t kLongestRow = 1000;
constexpr std::size_t kLongestName = 100;

/// The number that ends where `unit` begins: "56W /  400W" with "W" gives 56.
std::optional<double> number_before(std::string_view text, std::string_view unit) {
  const std::size_t at = text.find(unit);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view before = text.substr(0, at);
  const std::size_t start = before.find_last_not_of("0123456789.");
  std::size_t used = 0;
  const auto number = number_at(start == std::string_view::npos ? before : before.substr(start + 1), used);
  return number ? std::optional(number->value) : std::nullopt;
}

std::optional<std::int64_t> bytes_from_mebibytes(std::optional<double> mebibytes) {
  if (!mebibytes || !(*mebibytes >= 0) || *mebibytes > 1e12) return std::nullopt;
  return static_cast<std::int64_t>(*mebibytes * kMebibyte);
}

std::string short_name(std::string_view name) { return printable(trim(name).substr(0, kLongestName)); }

}  // namespace

bool GpuTableReader::take(std::string_view line, std::vector<LoggedGpu>& readings) {
  if (line.empty() || line.size() > kLongestRow) return false;
  if (line.front() == '|') return take_box_line(line, readings);
  if (!columns_.empty()) {
    if (take_csv_row(line, readings)) return true;
    columns_.clear();
  }
  const bool may_be_header = line.front() >= 'a' && line.front() <= 'z' && line.find(',') != std::string_view::npos;
  return may_be_header && take_csv_header(line);
}

bool GpuTableReader::take_box_line(std::string_view line, std::vector<LoggedGpu>& readings) {
  const auto cells = split(line, '|');
  // "", three cells, ""; the table of processes has one.
  if (cells.size() != 5) return false;
  const std::string_view first = trim(cells[1]);
  std::size_t used = 0;
  if (const auto index = count_at(first, used); index && first.substr(used).starts_with("  ")) {
    std::string_view name = trim(first.substr(used));
    for (const std::string_view persistence : {"On", "Off"}) {
      if (name.ends_with(persistence)) name.remove_suffix(persistence.size());
    }
    upper_half_ = LoggedGpu{.index = *index, .name = short_name(name)};
    return true;
  }
  if (!upper_half_ || cells[2].find("MiB") == std::string_view::npos) return false;
  LoggedGpu reading = *std::exchange(upper_half_, std::nullopt);
  reading.temperature_c = number_before(cells[1], "C ");
  reading.power_w = number_before(cells[1], "W ");
  const std::size_t slash = cells[2].find('/');
  reading.memory_used_bytes = bytes_from_mebibytes(number_before(cells[2].substr(0, slash), "MiB"));
  if (slash != std::string_view::npos) {
    reading.memory_total_bytes = bytes_from_mebibytes(number_before(cells[2].substr(slash), "MiB"));
  }
  if (const auto percent = number_before(cells[3], "%")) reading.utilisation = *percent / 100;
  if (readings.size() < kMostReadings) readings.push_back(std::move(reading));
  return true;
}

bool GpuTableReader::take_csv_header(std::string_view line) {
  static constexpr std::array<std::pair<std::string_view, Column>, 8> kColumns = {{
      {"index", Column::index},
      {"name", Column::name},
      {"gpu_name", Column::name},
      {"utilization.gpu", Column::utilisation},
      {"memory.used", Column::memory_used},
      {"memory.total", Column::memory_total},
      {"temperature.gpu", Column::temperature},
      {"power.draw", Column::power},
  }};
  if (line.find("utilization.gpu") == std::string_view::npos && line.find("memory.used") == std::string_view::npos) {
    return false;
  }
  std::vector<Column> columns;
  for (const auto cell : split(line, ',')) {
    const std::string_view title = trim(trim(cell).substr(0, trim(cell).find('[')));
    const auto known =
        std::find_if(kColumns.begin(), kColumns.end(), [&](const auto& one) { return one.first == title; });
    columns.push_back(known == kColumns.end() ? Column::other : known->second);
  }
  if (std::count(columns.begin(), columns.end(), Column::other) > 4) return false;
  columns_ = std::move(columns);
  csv_rows_ = 0;
  return true;
}

bool GpuTableReader::take_csv_row(std::string_view line, std::vector<LoggedGpu>& readings) {
  const auto cells = split(line, ',');
  if (cells.size() != columns_.size()) return false;
  LoggedGpu reading{.index = csv_rows_};
  int figures = 0;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const std::string_view cell = trim(cells[i]);
    std::size_t used = 0;
    const auto number = number_at(cell, used);
    const auto value = number ? std::optional(number->value) : std::nullopt;
    switch (columns_[i]) {
      case Column::index:
        if (const auto index = count_at(cell, used)) reading.index = *index;
        break;
      case Column::name: reading.name = short_name(cell); break;
      case Column::utilisation: reading.utilisation = value ? std::optional(*value / 100) : std::nullopt; break;
      case Column::memory_used: reading.memory_used_bytes = bytes_from_mebibytes(value); break;
      case Column::memory_total: reading.memory_total_bytes = bytes_from_mebibytes(value); break;
      case Column::temperature: reading.temperature_c = value; break;
      case Column::power: reading.power_w = value; break;
      case Column::other: continue;
    }
    // "[N/A]" stands where a GPU cannot say.
    if (columns_[i] != Column::name && (value || cell.starts_with('['))) ++figures;
  }
  if (figures == 0) return false;
  ++csv_rows_;
  if (readings.size() < kMostReadings) readings.push_back(std::move(reading));
  return true;
}

}  // namespace assay
