#include <fmt/format.h>

#include <algorithm>

#include "store/series/engine.h"

namespace assay {
namespace {

/// No log file is longer: a batch is written before the size is looked at.
constexpr std::size_t kLongestLog = std::size_t{4} << 30;

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
    // Its name may be all that the database has lost of it.
    return engine_.load_progress(id);
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
    if (!unknown_.empty()) {
      engine_.note({fmt::format("points of {} series were lost with the names of the series", unknown_.size())});
    }
    for (const auto& [id, left_out] : engine_.opening_->unplaced) engine_.place(id, left_out);
  }

 private:
  /// Gives back those that belong among the chunks.
  std::vector<SeriesSample> put_into_heads(std::span<const SeriesSample> samples) {
    std::vector<SeriesSample> others;
    std::vector<SeriesSample> fresh;
    for (const auto& sample : samples) {
      if (!engine_.catalogue_.contains(sample.series)) {
        unknown_.insert(sample.series);
      } else if (sample.time_ns < engine_.floors_[0] || leave_out(sample)) {
        continue;
      } else if (sample.time_ns <= engine_.heads_[sample.series].progress.stored_until) {
        others.push_back(sample);
      } else {
        fresh.push_back(sample);
      }
    }
    engine_.put_all_into_heads(fresh);
    return others;
  }

  /// Whether it may be in chunks already for all that is known.
  bool leave_out(const SeriesSample& sample) {
    auto& unplaced = engine_.opening_->unplaced;
    if (unplaced.empty()) return false;
    const auto found = unplaced.find(sample.series);
    if (found == unplaced.end()) return false;
    auto& [points, range] = found->second;
    range = {points == 0 ? sample.time_ns : std::min(range.from_ns, sample.time_ns),
             points == 0 ? sample.time_ns + 1 : std::max(range.to_ns, sample.time_ns + 1)};
    ++points;
    return true;
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

/// A series of which nobody knows how far it is in chunks: what comes from now on is put after everything that was ever
/// heard of it.
void SeriesEngine::place(SeriesId id, const LeftOut& left_out) {
  if (!catalogue_.contains(id)) return;
  auto until = left_out.range.to_ns - 1;
  for (auto* tier : {&file_->minutes(), &file_->hours()}) {
    const auto newest = tier->newest(id);
    const auto width = tier == &file_->minutes() ? kMinuteNs : kHourNs;
    if (newest.ok() && *newest) until = std::max(until, (*newest)->start_ns + width - 1);
  }
  if (until <= 0) until = newest_sample_;
  heads_[id].progress = {.stored_until = until};
  if (left_out.points == 0) {
    note({fmt::format("series {}: up to where it is stored cannot be read", id)});
    return;
  }
  losses_.add(id, left_out.range,
              fmt::format("up to where the series is stored cannot be read, so {} points in the log were left out",
                          left_out.points));
  const SeriesId told[] = {id};
  note(losses_.of(told, left_out.range));
}

/// Series that have chunks and no name: nobody can ask for them, and any answer may lack them.
void SeriesEngine::note_lost_names() {
  std::size_t nameless = 0;
  for (const auto& [id, progress] : opening_->stored.known()) nameless += catalogue_.contains(id) ? 0 : 1;
  if (nameless == 0) return;
  auto what = fmt::format("the names of {} series are damaged: what they had is missing from answers", nameless);
  note({what});
  losses_.add_for_all({}, std::move(what));
}

/// Log files go oldest first, so that those that are left have consecutive numbers from one to another that the
/// database knows.
void SeriesEngine::note_missing_log(const std::vector<LogFile>& files, LogNumbers known) {
  auto expected = known.first > 0 ? known.first : files.empty() ? 1 : files.front().number;
  const auto name_of = [&](std::uint32_t number) { return log_file_path(folder_, number).filename().string(); };
  const auto expect_next = [&](std::uint32_t number) {
    if (expected >= number) return;
    const auto which = number - expected == 1 ? fmt::format("{} is", name_of(expected))
                                              : fmt::format("{} to {} are", name_of(expected), name_of(number - 1));
    auto what = which + " missing: points that were only there are lost";
    note({what});
    losses_.add_for_all({.to_ns = clock_.wall().time_since_epoch().count()}, std::move(what));
  };
  for (const auto& file : files) {
    expect_next(file.number);
    expected = std::max(expected, file.number + 1);
  }
  if (known.first > 0) expect_next(known.last + 1);
}

/// Which log files there are. That it cannot be written now, on a full disk, costs nothing but a false complaint later.
void SeriesEngine::remember_log_files(std::uint32_t first) {
  const auto put = [&]() -> Result<void> {
    ASSAY_TRY(auto transaction, Transaction::begin(file_->database()));
    ASSAY_CHECK(file_->put_setting("log_first", first));
    ASSAY_CHECK(file_->put_setting("log_last", log_->file_number()));
    return transaction.commit();
  };
  first_log_file_ = first;
  log_files_remembered_ = put().ok();
}

Result<void> SeriesEngine::replay() {
  ASSAY_TRY(const auto applied, file_->setting("changes"));
  next_change_ = static_cast<std::uint64_t>(applied) + 1;
  ASSAY_TRY(const auto files, log_files(folder_));
  ASSAY_TRY(const auto first, file_->setting("log_first"));
  ASSAY_TRY(const auto last, file_->setting("log_last"));
  const LogNumbers known{static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(last)};
  note_missing_log(files, known);
  Replay visitor(*this, static_cast<std::uint64_t>(applied));
  std::uint32_t number = known.last;
  for (const auto& file : files) {
    number = std::max(number, file.number);
    ASSAY_TRY(const auto bytes, read_file(file.path, kLongestLog));
    // The file that is open for writing does not exist yet: what is put into heads comes from this one.
    replaying_ = file.number;
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
  note_lost_names();
  opening_.reset();
  ASSAY_TRY(auto log, HeadLogWriter::create(folder_, number + 1, options_.log_file_bytes));
  log_.emplace(std::move(log));
  log_files_ = files.size() + 1;
  remember_log_files(files.empty() ? log_->file_number() : files.front().number);
  synced_ = checkpointed_ = clock_.now();
  trusted_sample_ = newest_sample_;
  return {};
}

}  // namespace assay
