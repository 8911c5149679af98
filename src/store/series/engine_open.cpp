#include <fmt/format.h>

#include <algorithm>

#include "base/ids.h"
#include "store/series/engine.h"

namespace assay {
namespace {

constexpr const char* kDatabase = "series.db";
constexpr std::size_t kMostProblems = 100;
/// No log file is longer: a batch is written before the size is looked at.
constexpr std::size_t kLongestLog = std::size_t{4} << 30;

bool wal_is_safe(const fs::path& folder, bool wanted) {
  const auto kind = file_system_of(folder);
  return wanted && kind.ok() && !kind->network;
}

const Clock& machine_clock() {
  static const SystemClock clock;
  return clock;
}

}  // namespace

/// Puts the log back into memory. The database has every point up to where its series is in chunks, and every change up
/// to the last it knows; the rest comes from here. No chunk is written meanwhile: it would have points that a change
/// further on takes away, and of that change the database may know already.
class SeriesEngine::Replay final : public LogVisitor {
 public:
  Replay(SeriesEngine& engine, std::uint64_t applied) : engine_(engine), applied_(applied) {}

  Result<void> on_series(SeriesId id, const SeriesKey& key, std::string_view unit) override {
    engine_.next_id_ = std::max(engine_.next_id_, id + 1);
    unknown_.erase(id);
    if (engine_.catalogue_.contains(id)) return {};
    // The database may know its successor already: then a later frame says that this one was forgotten.
    if (engine_.catalogue_.find(key)) return {};
    if (!check_series_key(key, unit).ok()) {
      return Error{.kind = ErrorKind::bad_file, .message = "a series that cannot be"};
    }
    engine_.add_series(id, key, unit);
    engine_.unsaved_.push_back(id);
    return {};
  }

  Result<void> on_samples(std::span<const SeriesSample> samples) override {
    put_into_heads(samples);
    return {};
  }

  Result<void> on_late(std::uint64_t number, std::span<const SeriesSample> samples) override {
    // What is later than the chunks is in memory only, even if the database has seen the change.
    const auto late = put_into_heads(samples);
    return begin(number) ? engine_.merge_late(number, late) : Result<void>();
  }

  Result<void> on_erase(std::uint64_t number, TimeRange range, std::span<const SeriesId> ids) override {
    std::vector<SeriesId> known;
    for (const auto id : ids) {
      if (engine_.catalogue_.contains(id)) known.push_back(id);
    }
    if (begin(number)) return engine_.apply_erase(number, range, known);
    // The chunks were changed before; the points that the log brought back to memory were not.
    engine_.erase_from_heads(known, range);
    return {};
  }

  Result<void> on_forget(std::uint64_t number, std::span<const SeriesId> ids) override {
    std::vector<SeriesId> known;
    for (const auto id : ids) {
      unknown_.erase(id);
      if (engine_.catalogue_.contains(id)) known.push_back(id);
    }
    if (begin(number)) return engine_.apply_forget(number, known);
    engine_.drop(known);
    return {};
  }

  void on_damage(std::string what) override { engine_.note({std::move(what)}); }

  void finish() {
    if (unknown_.empty()) return;
    engine_.note({fmt::format("points of {} series were lost with the names of the series", unknown_.size())});
  }

 private:
  /// Gives back those that belong among the chunks.
  std::vector<SeriesSample> put_into_heads(std::span<const SeriesSample> samples) {
    std::vector<SeriesSample> others;
    for (const auto& sample : samples) {
      if (!engine_.catalogue_.contains(sample.series)) {
        unknown_.insert(sample.series);
      } else if (sample.time_ns < engine_.floors_[0]) {
        continue;
      } else if (sample.time_ns <= engine_.heads_[sample.series].progress.stored_until) {
        others.push_back(sample);
      } else {
        engine_.put_into_head(sample);
      }
    }
    return others;
  }

  /// Whether the database has yet to see this change.
  bool begin(std::uint64_t number) {
    engine_.next_change_ = std::max(engine_.next_change_, number + 1);
    if (number <= applied_) return false;
    applied_ = number;
    return true;
  }

  SeriesEngine& engine_;
  std::uint64_t applied_;
  std::set<SeriesId> unknown_;
};

SeriesEngine::SeriesEngine(fs::path folder, const SeriesStoreOptions& options)
    : folder_(std::move(folder)),
      options_(options),
      clock_(options.clock ? *options.clock : machine_clock()),
      readers_(folder_ / kDatabase, wal_is_safe(folder_, options.write_ahead_log)) {}

SeriesEngine::~SeriesEngine() {
  // Nobody is left to hear of a failure; the log is written, only not yet known to be on the disk.
  if (log_) [[maybe_unused]]
    const auto synced = log_->sync();
}

Result<std::unique_ptr<SeriesEngine>> SeriesEngine::open(const fs::path& folder, const SeriesStoreOptions& options) {
  const auto doing = fmt::format("opening the telemetry in '{}'", folder.string());
  const auto open = [&]() -> Result<std::unique_ptr<SeriesEngine>> {
    if (options.keep[0] > options.keep[1] || options.keep[1] > options.keep[2]) {
      // Hours are made from minutes and minutes from points.
      return Error{.kind = ErrorKind::usage, .message = "a coarser tier cannot be kept for less time than a finer one"};
    }
    ASSAY_CHECK(make_folders(folder));
    std::unique_ptr<SeriesEngine> engine(new SeriesEngine(folder, options));
    ASSAY_TRY(auto lock, FileLock::claim(folder / "owner.lock"));
    engine->lock_.emplace(std::move(lock));
    ASSAY_CHECK(engine->open_file());
    ASSAY_CHECK(engine->replay());
    return engine;
  };
  return open().within(doing);
}

/// A file that is no database any more is kept under another name.
Result<void> SeriesEngine::open_file() {
  const bool wal = wal_is_safe(folder_, options_.write_ahead_log);
  const auto path = folder_ / kDatabase;
  const auto try_it = [&]() -> Result<void> {
    ASSAY_TRY(file_, SeriesFile::open(path, wal));
    return load();
  };
  auto loaded = try_it();
  if (loaded.ok() || loaded.error().kind != ErrorKind::bad_file) return loaded;
  file_.reset();
  catalogue_ = {};
  heads_.clear();
  newest_sample_ = 0;
  const auto aside = fmt::format("{}.damaged-{}", kDatabase, new_id());
  for (const std::string_view suffix : {"", "-wal", "-shm"}) {
    std::error_code missing;
    fs::rename(path.string() + std::string(suffix), (folder_ / aside).string() + std::string(suffix), missing);
  }
  note({fmt::format("{} cannot be read ({}) and was kept as {}; a new one was begun", kDatabase, loaded.error().message,
                    aside)});
  return try_it();
}

Result<void> SeriesEngine::load() {
  std::vector<std::string> problems;
  for (std::size_t tier = 0; tier < floors_.size(); ++tier) {
    ASSAY_TRY(floors_[tier], file_->setting(kFloorNames[tier]));
  }
  floors_ = next_floors(clock_.wall());
  ASSAY_CHECK(load_series(problems));
  std::set<SeriesId> without_progress;
  for (SeriesId id = 0; id < catalogue_.end(); ++id) {
    if (catalogue_.contains(id)) without_progress.insert(id);
  }
  ASSAY_CHECK(file_->each_progress([&](SeriesId id, const SeriesProgress& progress) {
    if (!catalogue_.contains(id)) return;
    heads_[id].progress = progress;
    newest_sample_ = std::max(newest_sample_, progress.newest.time_ns);
    without_progress.erase(id);
  }));
  for (const auto id : without_progress) {
    auto newest = file_->raw().last(id, problems);
    if (!newest.ok() && newest.error().kind != ErrorKind::bad_file) return std::move(newest).error();
    if (!newest.ok() || !*newest) continue;
    heads_[id].progress = {(*newest)->time_ns, **newest};
    newest_sample_ = std::max(newest_sample_, (*newest)->time_ns);
  }
  note(std::move(problems));
  return {};
}

/// Of two series with one key the later is right: the other was forgotten.
Result<void> SeriesEngine::load_series(std::vector<std::string>& problems) {
  ASSAY_TRY(const auto next, file_->setting("next_series"));
  next_id_ = static_cast<SeriesId>(std::clamp<std::int64_t>(next, 1, INT32_MAX));
  std::vector<SeriesId> forgotten;
  ASSAY_CHECK(file_->each_series(
      [&](const SeriesInfo& series) {
        if (series.id >= next_id_) return;
        if (const auto before = catalogue_.find(series.key)) {
          catalogue_.remove(*before);
          forgotten.push_back(*before);
        }
        add_series(series.id, series.key, series.unit);
      },
      problems));
  for (const auto id : forgotten) {
    // If it fails now, the next opening finds it again.
    if (const auto gone = file_->forget(id); !gone.ok()) {
      problems.push_back(
          fmt::format("series {}: it was forgotten and cannot be deleted: {}", id, gone.error().message));
    }
  }
  return {};
}

Result<void> SeriesEngine::replay() {
  ASSAY_TRY(const auto applied, file_->setting("changes"));
  next_change_ = static_cast<std::uint64_t>(applied) + 1;
  ASSAY_TRY(const auto files, log_files(folder_));
  Replay visitor(*this, static_cast<std::uint64_t>(applied));
  std::uint32_t number = 0;
  for (const auto& file : files) {
    number = file.number;
    ASSAY_TRY(const auto bytes, read_file(file.path, kLongestLog));
    // The file that is open for writing does not exist yet: what is put into heads comes from this one.
    replaying_ = number;
    const bool newest = &file == &files.back();
    ASSAY_TRY(const auto end, read_log(bytes, file, newest, visitor).within(file.path.filename().string()));
    if (end == bytes.size()) continue;
    // What was cut off by a crash would look like damage once other files follow.
    std::error_code code;
    fs::resize_file(file.path, end, code);
    if (code) return system_error(code.value(), fmt::format("cannot shorten '{}'", file.path.string()));
  }
  replaying_ = 0;
  visitor.finish();
  ASSAY_TRY(auto log, HeadLogWriter::create(folder_, number + 1, options_.log_file_bytes));
  log_.emplace(std::move(log));
  log_files_ = files.size() + 1;
  synced_ = checkpointed_ = clock_.now();
  trusted_sample_ = newest_sample_;
  return {};
}

void SeriesEngine::add_series(SeriesId id, const SeriesKey& key, std::string_view unit) {
  // The first chunk is shorter by a different number of points for each group of ids: later, groups fall due one after
  // the other instead of all at once, and those of one group are neighbours in the tables.
  constexpr std::uint32_t kGroup = 256;
  constexpr std::uint32_t kShortest = kChunkPoints / 4;
  catalogue_.add(id, key, unit);
  if (heads_.size() <= id) heads_.resize(std::size_t{id} + 1);
  heads_[id] = {};
  heads_[id].target = kShortest + id / kGroup * 37 % (kChunkPoints - kShortest);
}

void SeriesEngine::note(std::vector<std::string> problems) const {
  if (problems.empty()) return;
  const std::lock_guard hold(state_);
  for (auto& problem : problems) {
    if (problems_.size() < kMostProblems) problems_.insert(std::move(problem));
  }
}

std::vector<std::string> SeriesEngine::problems() const {
  const std::lock_guard hold(state_);
  return {problems_.begin(), problems_.end()};
}

SeriesStoreStats SeriesEngine::stats() const {
  const std::lock_guard hold(state_);
  const std::size_t head_bytes = head_bytes_ + heads_.capacity() * sizeof(Head);
  return {.series = catalogue_.size(),
          .head_points = head_points_,
          .head_bytes = head_bytes,
          .log_files = log_files_,
          .fullness = static_cast<double>(head_bytes) / static_cast<double>(options_.max_head_bytes)};
}

Result<std::unique_ptr<SeriesStore>> open_series_store(const fs::path& folder, const SeriesStoreOptions& options) {
  ASSAY_TRY(auto engine, SeriesEngine::open(folder, options));
  return std::unique_ptr<SeriesStore>(std::move(engine));
}

}  // namespace assay
