#include "store/local/run_journals.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <vector>

#include "base/log.h"
#include "store/journal/series_tally.h"
#include "store/local/journal_reader.h"

namespace assay {
namespace {

constexpr std::string_view kJournalSuffix = ".journal";
constexpr std::string_view kRankPrefix = "rank-";

JournalOwner main_owner(const RunFolder& folder) {
  // The lock first: it is given up after run.json has its final form.
  const auto owner = folder.owner();
  if (owner == LockState::held) return JournalOwner::live;
  const auto run = folder.load();
  if (!run.ok()) return JournalOwner::gone;
  if (run->state == RunState::ended && run->verdict != Verdict::interrupted) return JournalOwner::finished;
  return owner == LockState::unknown && run->state == RunState::running ? JournalOwner::live : JournalOwner::gone;
}

/// Adds to every series which rank it came from.
class RankVisitor final : public JournalVisitor {
 public:
  RankVisitor(JournalVisitor& inner, std::string_view name) : inner_(inner) {
    if (name.starts_with(kRankPrefix)) name.remove_prefix(kRankPrefix.size());
    rank_ = name;
  }
  void on_event(WallTime time, std::string_view event) override { inner_.on_event(time, event); }
  void on_points(const SeriesKey& key, std::string_view unit, std::span<const SeriesPoint> points) override {
    auto labelled = key;
    labelled.labels["rank"] = rank_;
    inner_.on_points(labelled, unit, points);
  }
  void on_output(OutputStream stream, WallTime time, std::string_view bytes) override {
    inner_.on_output(stream, time, bytes);
  }
  void on_damage(std::string_view what) override { inner_.on_damage(what); }

 private:
  JournalVisitor& inner_;
  std::string rank_;
};

std::vector<std::string> rank_names(const RunFolder& folder) {
  std::vector<std::string> names;
  std::error_code code;
  for (fs::directory_iterator entry(folder.ranks(), code), end; !code && entry != end; entry.increment(code)) {
    auto name = entry->path().filename().string();
    if (!name.ends_with(kJournalSuffix)) continue;
    name.resize(name.size() - kJournalSuffix.size());
    names.push_back(std::move(name));
  }
  // rank-2 before rank-10.
  std::sort(names.begin(), names.end(), [](const std::string& a, const std::string& b) {
    return std::pair(a.size(), std::string_view(a)) < std::pair(b.size(), std::string_view(b));
  });
  return names;
}

class Salvager final : public JournalVisitor {
 public:
  void on_points(const SeriesKey& key, std::string_view unit, std::span<const SeriesPoint> points) override {
    const auto [entry, is_new] = places_.try_emplace(key, series_.size());
    if (is_new) series_.push_back({key, std::string(unit), {}});
    for (const auto& point : points) series_[entry->second].tally.add(point.value);
  }

  void put_into(Run& run) const {
    run.series.clear();
    for (const auto& [key, unit, tally] : series_) {
      run.series.push_back(tally.summary(key, unit));
      if (key.labels.empty() && tally.any_finite() && is_workload_metric(key.name))
        run.metrics[key.name] = tally.last();
    }
  }

 private:
  struct Series {
    SeriesKey key;
    std::string unit;
    SeriesTally tally;
  };

  static bool is_workload_metric(std::string_view name) {
    return !name.starts_with("host.") && !name.starts_with("gpu.") && !name.starts_with("workload.");
  }

  std::map<SeriesKey, std::size_t> places_;
  std::vector<Series> series_;
};

WallTime last_write(const fs::path& path) {
  struct stat info{};
  if (::stat(path.c_str(), &info) != 0) return {};
  return WallTime(std::chrono::seconds(info.st_mtim.tv_sec) + Nanos(info.st_mtim.tv_nsec));
}

}  // namespace

fs::path rank_journal(const RunFolder& folder, std::string_view name) {
  return folder.ranks() / (std::string(name) + std::string(kJournalSuffix));
}

Result<JournalPosition> read_run_journals(const RunFolder& folder, JournalVisitor& visitor, JournalPosition from) {
  const auto read = [&](const fs::path& path, const std::string& name, JournalOwner owner,
                        JournalVisitor& shown_to) -> Result<void> {
    ASSAY_TRY(auto reader, JournalReader::open(path, name));
    auto& offset = from.offsets[name];
    ASSAY_TRY(offset, reader.read(offset, owner, shown_to));
    return {};
  };
  auto result = read(folder.journal(), "journal", main_owner(folder), visitor);
  if (!result.ok()) {
    if (result.error().kind != ErrorKind::missing_file) return std::move(result).error();
    visitor.on_damage("journal: the file is missing");
  }
  for (const auto& name : rank_names(folder)) {
    const auto path = rank_journal(folder, name);
    const auto owner = FileLock::state(path) == LockState::held ? JournalOwner::live : JournalOwner::gone;
    RankVisitor labelled(visitor, name);
    ASSAY_CHECK(read(path, "ranks/" + path.filename().string(), owner, labelled));
  }
  return from;
}

Run salvage(const RunFolder& folder, Run run) {
  Salvager salvager;
  if (const auto read = read_run_journals(folder, salvager, {}); !read.ok()) {
    log_warning("run '{}': {}", run.id, read.error().text());
  }
  salvager.put_into(run);

  run.ended = std::max({last_write(folder.journal()), run.started, run.created});
  for (const auto& name : rank_names(folder)) run.ended = std::max(run.ended, last_write(rank_journal(folder, name)));
  run.duration = run.ended - (run.started == WallTime{} ? run.created : run.started);
  run.state = RunState::ended;
  run.verdict = Verdict::interrupted;
  const auto owner = folder.owner_name();
  run.error = RunError{.kind = ErrorKind::interrupted,
                       .message = fmt::format("the process that recorded this run{} ended without closing it",
                                              owner.empty() ? "" : fmt::format(" ({})", owner)),
                       .hint = "It was killed, or the machine went down. What it had written until then is kept."};
  return run;
}

}  // namespace assay
