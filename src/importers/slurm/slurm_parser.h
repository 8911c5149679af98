#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "importers/slurm/gpu_table.h"
#include "importers/slurm/slurm_job.h"
#include "importers/slurm/slurm_lines.h"
#include "importers/text/log_keys.h"

namespace assay {

/// Collects the facts of the jobs in one file, segment by segment. See parse_slurm_log.
class SlurmParser {
 public:
  explicit SlurmParser(std::string_view file_name);

  void take(const LogSegment& segment);
  /// Call once, at the end of the file.
  std::vector<SlurmJob> finish(std::int64_t lines);

 private:
  /// A number behind a delimiter, and what follows it.
  struct Value {
    Stated number;
    std::string_view rest;
  };
  /// The epoch a rank is in, and the one before it.
  struct Place {
    SlurmEpoch* epoch = nullptr;
    const SlurmEpoch* before = nullptr;
  };
  /// What one rank says of its course. Ranks see different data: a row of figures is of one of them.
  struct RankState {
    std::map<std::int64_t, SlurmEpoch> epochs;
    Place place;
    std::optional<Stated> lowest_val_loss;
    std::optional<Stated> highest_val_accuracy;
  };
  struct JobState {
    SlurmJob job;
    std::map<int, RankState> ranks;  ///< kNoRank for lines without a label
    std::size_t epochs = 0;          ///< of all ranks together
    GpuTableReader gpu_table;
  };
  /// What the segment at hand is about; found out once, and only where it has figures.
  struct Progress {
    bool known = false;
    Place place;
    bool bar = false;      ///< a progress bar
    bool running = false;  ///< one below 100 %
  };

  void scan_delimiters();
  void take_fact(const LogKeyMatch& match, std::string_view rest, char delimiter);
  void take_text(const LogKeyMatch& match, std::string_view rest, char delimiter);
  void take_job_id(std::string_view id);
  void take_count(LogKey key, std::string_view rest);
  void take_time(LogKey key, std::string_view rest);
  void take_metric(LogKey key, std::string_view rest);
  void take_validation(LogKey key, const Value& value);
  void take_rate(LogKey key, const Value& value);
  void take_problem(std::string_view before_colon);
  void take_announcement();
  const Progress& progress();
  void look_at_bar();
  void enter_epoch(std::int64_t number);
  static void put_course(JobState& state);
  std::optional<Value> value_of(std::string_view text);
  /// Whether a value may end where `rest` begins. False where the end of the file may have cut it, or where another
  /// rank wrote into the line.
  bool ends_well(std::string_view rest);
  void start_again();
  SlurmJob& job() { return states_[current_]->job; }
  /// Of the rank whose line it is; null for one too many.
  RankState* rank_state();

  static constexpr int kNoRank = -1;

  std::string file_name_;
  std::vector<std::unique_ptr<JobState>> states_;  ///< by first mention
  std::size_t current_ = 0;
  LogSegment segment_;
  Progress progress_;
  bool cut_ = false;  ///< the file ends in the middle of a line
};

}  // namespace assay
