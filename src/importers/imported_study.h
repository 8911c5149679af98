#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "exchange/run_series.h"
#include "importers/csv/metrics_csv.h"
#include "importers/import_format.h"
#include "importers/loadgen/loadgen_log.h"
#include "importers/results/node_results.h"
#include "importers/slurm/slurm_log.h"
#include "model/run.h"
#include "model/study.h"

namespace assay {

// From what the parsers read to runs and a study as our own are recorded: the same names of settings and metrics, a
// verdict for each. Pure; nothing here has an id yet, storing gives them. Text from the files is made printable and
// rid of credentials.

/// Runs of which `study.plan[i]` plans `runs[i]`. Flags about one run are in the run, those about the whole in the
/// study.
struct ImportedStudy {
  Study study;
  std::vector<RunWithSeries> runs;
};

/// The study's flags, and then those of each run.
std::vector<Flag> all_flags(const ImportedStudy& imported);

/// A metrics file with the name it is spoken of.
struct NamedCsv {
  std::string name;
  CsvImport metrics;
};

/// One run per job. Jobs in whose output nothing was found become flags.
ImportedStudy study_from_slurm(const SlurmImport& import);
/// One run per node or configuration, per job over several ranks (whose files all state the rate of the whole job),
/// per summary and per part of a suite. Training nodes with equal settings are compared with each other. `price` is
/// kept with the settings where the files state none.
ImportedStudy study_from_results(const NodeResults& results, const std::optional<Price>& price = {});
/// One run per run that the files tell apart. Its metrics are the last values of its series.
ImportedStudy study_from_csv(std::span<const NamedCsv> files);
/// One run per result.
ImportedStudy study_from_loadgen(const LoadgenImport& import);
/// Runs that were exported: as they were, as far as they are not about the store they came from.
ImportedStudy study_from_exports(std::vector<RunWithSeries> runs);

struct ImportOptions {
  std::string name;               ///< of the study; empty: from the runs or the files' folder
  std::vector<std::string> tags;  ///< added to the study and to every run
  std::optional<Price> price;     ///< for results that state none
};

constexpr std::size_t kMostImportedRuns = 10'000;

/// Reads files as `format` and converts them. The study's source lists the files with the hash of their content; its
/// spec_hash is the same whenever the same files are imported in the same way, whatever their order and folder. Files
/// that cannot be read as that are an error of kind bad_file whose hint names the format that fits; they are flags
/// where others can. `name` of a file is its path as the user wrote it.
Result<ImportedStudy> import_files(ImportFormat format, std::span<const NamedText> files,
                                   const ImportOptions& options = {});

}  // namespace assay
