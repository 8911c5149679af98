#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "importers/imported_study.h"
#include "importers/text/figure.h"

namespace assay {

// What the conversions of imported_study.h have in common.

/// A run while it is put together.
struct DraftRun {
  RunWithSeries recorded;
  std::string node;               ///< the one node it ran on; empty: several, or not known
  std::string size;               ///< first part of the variant: "ranks=8, nodes=2"; may be empty
  bool told_by_node = false;      ///< runs of several nodes are not repeats of each other
  bool figures_unusable = false;  ///< the verdict is `invalid`, whatever the flags are
  Run& run() { return recorded.run; }
};

struct DraftStudy {
  std::vector<DraftRun> runs;
  std::vector<Flag> flags;
};

/// An ended run with the tags of every imported one.
DraftRun draft_run(ImportFormat format, std::string_view kind, std::string_view name);

// Metrics; absent and non-finite ones are left out.
void put_metric(Run& run, std::string_view name, double value);
void put_metric(Run& run, std::string_view name, const std::optional<double>& value);
void put_metric(Run& run, std::string_view name, const std::optional<Stated>& value);
void put_count(Run& run, std::string_view name, std::optional<std::int64_t> value);
/// The run's duration and the metric that says the same.
void put_duration(Run& run, std::optional<double> seconds);

/// `PREFIX_p50_seconds` and the like from what each sample took; what is there already stays, since it was stated.
/// Exact values, as everywhere: sorted[⌊n·p⌋].
void put_percentiles(Run& run, std::string_view prefix, std::vector<double> seconds);

/// Sets a setting by its dotted name: "lora.rank".
void put_setting(json::object& spec, std::string_view name, json::value value);
void put_setting(json::object& spec, std::string_view name, std::optional<std::int64_t> value);
/// Settings as files call them, under our names; those that we have no name for are parameters (`params.NAME`). What is
/// there already stays.
void put_settings(json::object& spec, const std::map<std::string, std::string, std::less<>>& written);
/// Whether files may call a setting of ours so: `lr`, `per_device_train_batch_size`.
bool is_setting_name(std::string_view written);
/// Ranks and nodes of the run and its settings, and how a study names such a size.
void put_size(DraftRun& draft, std::optional<std::int64_t> ranks, std::optional<std::int64_t> nodes);

/// The kind of an error by its words.
ErrorKind error_kind_in(std::string_view text);

/// Gives runs without a variant the name of what sets them apart, as studies of our own have it: the size, and those
/// settings that differ between the runs. Runs that nothing sets apart are repeats of each other.
void settle_variants(DraftStudy& draft);

/// Settles verdicts and plan, and makes every text printable and shareable.
ImportedStudy finish_study(DraftStudy draft);

}  // namespace assay
