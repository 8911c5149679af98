#pragma once

#include <optional>
#include <span>
#include <string_view>

namespace assay {

/// What can be imported.
enum class ImportFormat {
  slurm,    ///< output of training jobs
  results,  ///< JSON results of nodes
  csv,      ///< metrics, ours or those of other trackers
  loadgen,  ///< MLPerf LoadGen's logs
  run,      ///< runs that assay exported as JSON
};

std::string_view name_of(ImportFormat format);  ///< "slurm": as the command line calls it
std::optional<ImportFormat> import_format_from(std::string_view name);
/// For messages: "the output of a training job".
std::string_view description_of(ImportFormat format);
std::span<const ImportFormat> import_formats();

/// What the beginning of a file looks like; absent where nothing speaks for one of them.
std::optional<ImportFormat> guess_import_format(std::string_view bytes, std::string_view name);

}  // namespace assay
