#include "importers/import_format.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "base/text.h"
#include "exchange/encoding.h"
#include "importers/csv/csv_reader.h"
#include "importers/loadgen/loadgen_log.h"
#include "importers/slurm/slurm_log.h"

namespace assay {
namespace {

/// Enough to pass over a job's preamble; more would only cost time.
constexpr std::size_t kLookedAt = std::size_t{1} << 20;
constexpr int kRecords = 100;

struct FormatInfo {
  ImportFormat format;
  std::string_view name;
  std::string_view description;
};
constexpr std::array kFormats = {
    FormatInfo{ImportFormat::slurm, "slurm", "the output of a training job"},
    FormatInfo{ImportFormat::results, "results", "a JSON result of a node"},
    FormatInfo{ImportFormat::csv, "csv", "a CSV file of metrics"},
    FormatInfo{ImportFormat::loadgen, "loadgen", "a LoadGen log"},
    FormatInfo{ImportFormat::run, "run", "a run exported by assay"},
};
constexpr std::array kAllFormats = {ImportFormat::slurm, ImportFormat::results, ImportFormat::csv,
                                    ImportFormat::loadgen, ImportFormat::run};

const FormatInfo& info_of(ImportFormat format) {
  return *std::find_if(kFormats.begin(), kFormats.end(), [&](const auto& info) { return info.format == format; });
}

/// Several columns with a header, and most records as wide as it.
bool looks_like_csv(std::string_view head) {
  CsvReader reader(head, sniff_separator(head));
  std::vector<std::string_view> cells;
  if (!reader.next(cells) || cells.size() < 2) return false;
  const std::size_t width = cells.size();
  int records = 0;
  int as_wide = 0;
  while (records < kRecords && reader.next(cells)) {
    ++records;
    as_wide += cells.size() == width ? 1 : 0;
  }
  return as_wide * 10 >= records * 9;
}

bool looks_like_job(std::string_view head, std::string_view name) {
  const auto log = parse_slurm_log(head, name);
  return log && std::any_of(log->jobs.begin(), log->jobs.end(), [](const SlurmJob& job) {
           return finished(job) || !job.epochs.empty() || job.gpus || job.nodes || !job.problems.empty();
         });
}

}  // namespace

std::string_view name_of(ImportFormat format) { return info_of(format).name; }
std::string_view description_of(ImportFormat format) { return info_of(format).description; }
std::span<const ImportFormat> import_formats() { return kAllFormats; }

std::optional<ImportFormat> import_format_from(std::string_view name) {
  const auto found =
      std::find_if(kFormats.begin(), kFormats.end(), [&](const auto& info) { return info.name == name; });
  return found == kFormats.end() ? std::nullopt : std::optional(found->format);
}

std::optional<ImportFormat> guess_import_format(std::string_view bytes, std::string_view name) {
  const auto looked = look_at_bytes(bytes.substr(0, kLookedAt), name);
  if (!looked) return std::nullopt;
  const std::string_view head = trim(looked->text);
  if (head.empty()) return std::nullopt;
  if (loadgen_file_kind(head, name) != LoadgenFile::unknown) return ImportFormat::loadgen;
  if (head.starts_with('{') || head.starts_with('[')) {
    const bool own = head.substr(0, 200).find("\"assay-run\"") != std::string_view::npos;
    return own ? ImportFormat::run : ImportFormat::results;
  }
  if (looks_like_csv(looked->text)) return ImportFormat::csv;
  return looks_like_job(looked->text, name) ? std::optional(ImportFormat::slurm) : std::nullopt;
}

}  // namespace assay
