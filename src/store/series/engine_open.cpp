#include <fmt/format.h>

#include <algorithm>

#include "base/ids.h"
#include "store/series/engine.h"

namespace assay {
namespace {

constexpr const char* kDatabase = "series.db";
constexpr const char* kLock = "owner.lock";
constexpr const char* kAside = "series.db.damaged-";
constexpr std::size_t kMostProblems = 100;

bool wal_is_safe(const fs::path& folder, bool wanted) {
  const auto kind = file_system_of(folder);
  return wanted && kind.ok() && !kind->network;
}

const Clock& machine_clock() {
  static const SystemClock clock;
  return clock;
}

}  // namespace

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
    ASSAY_TRY(auto lock, FileLock::claim(folder / kLock));
    engine->lock_.emplace(std::move(lock));
    engine->note_set_aside();
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
  opening_.reset();
  catalogue_ = SeriesCatalogue(options_.owner_label);
  heads_.clear();
  newest_sample_ = 0;
  const auto aside = fmt::format("{}{}", kAside, new_id());
  for (const std::string_view suffix : {"", "-wal", "-shm"}) {
    std::error_code missing;
    fs::rename(path.string() + std::string(suffix), (folder_ / aside).string() + std::string(suffix), missing);
  }
  auto what = fmt::format("{} cannot be read ({}) and was kept as {}; a new one was begun", kDatabase,
                          loaded.error().message, aside);
  note({what});
  losses_.add_for_all({.to_ns = clock_.wall().time_since_epoch().count()}, std::move(what));
  return try_it();
}

/// Databases that were lost earlier are missing from answers for as long as nobody has taken care of them.
void SeriesEngine::note_set_aside() {
  std::error_code code;
  for (const auto& entry : fs::directory_iterator(folder_, code)) {
    const auto name = entry.path().filename().string();
    if (!name.starts_with(kAside) || name.ends_with("-wal") || name.ends_with("-shm")) continue;
    const auto written = fs::file_time_type::clock::to_sys(entry.last_write_time(code));
    auto what = fmt::format(
        "what is in {} is missing from answers: it could not be read; remove it once it is not needed", name);
    note({what});
    losses_.add_for_all({.to_ns = std::chrono::duration_cast<Nanos>(written.time_since_epoch()).count()},
                        std::move(what));
  }
}

Result<void> SeriesEngine::load() {
  std::vector<std::string> problems;
  for (std::size_t tier = 0; tier < floors_.size(); ++tier) {
    ASSAY_TRY(floors_[tier], file_->setting(kFloorNames[tier]));
  }
  floors_ = next_floors(clock_.wall());
  ASSAY_CHECK(load_series(problems));
  ASSAY_TRY(auto stored, StoredProgress::read(*file_));
  opening_.emplace(std::move(stored));
  for (SeriesId id = 0; id < catalogue_.end(); ++id) {
    if (catalogue_.contains(id)) ASSAY_CHECK(load_progress(id));
  }
  ASSAY_CHECK(load_sizes());
  note(std::move(problems));
  return {};
}

/// How far a series is in chunks. Where that is not known, nothing may be put on top of them.
Result<void> SeriesEngine::load_progress(SeriesId id) {
  ASSAY_TRY(const auto progress, opening_->stored.of(*file_, id));
  if (!progress) {
    opening_->unplaced.try_emplace(id);
    return {};
  }
  heads_[id].progress = *progress;
  newest_sample_ = std::max(newest_sample_, progress->newest.time_ns);
  return {};
}

/// What was never written down, as by an earlier version, or cannot be read is measured, once.
Result<void> SeriesEngine::load_sizes() {
  std::vector<bool> known(catalogue_.end());
  ASSAY_CHECK(file_->each_size([&](SeriesId id, std::int64_t bytes) {
    if (!catalogue_.contains(id)) return;
    catalogue_.grow(id, bytes);
    known[id] = true;
  }));
  SeriesGrowth measured;
  for (SeriesId id = 0; id < catalogue_.end(); ++id) {
    if (known[id] || !catalogue_.contains(id)) continue;
    if (heads_[id].progress.stored_until == kNever && !opening_->unplaced.contains(id)) continue;
    ASSAY_TRY(measured[id], file_->measure(id));
  }
  grow(measured);
  const auto save = [&]() -> Result<void> {
    ASSAY_TRY(auto transaction, file_->begin());
    for (const auto& [id, bytes] : measured) ASSAY_CHECK(file_->put_size(id, bytes));
    return transaction.commit();
  };
  // Where the disk is full they are measured again the next time.
  if (!measured.empty()) [[maybe_unused]]
    const auto saved = save();
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

SeriesHolding SeriesEngine::holding(std::string_view owner) const {
  const std::lock_guard hold(state_);
  return catalogue_.holding(owner);
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

Result<std::optional<FileLock>> lock_series_store(const fs::path& folder) {
  const auto path = folder / kLock;
  std::error_code code;
  // Made by somebody else than the store's owner, it would keep that one out.
  if (!fs::exists(path, code)) return std::optional<FileLock>();
  auto lock = FileLock::acquire(path, Nanos(0));
  if (lock) return std::optional(std::move(*lock));
  if (lock.error().kind != ErrorKind::busy) return lock.error();
  return Error{.kind = ErrorKind::busy,
               .message = fmt::format("'{}' is held by {}", path.string(), owner_of(path)),
               .hint = "End that process first, or use another folder."};
}

}  // namespace assay
