#include "store/local/study_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <utility>

#include "base/file_lock.h"
#include "base/json.h"
#include "base/log.h"
#include "store/local/run_folder.h"

namespace assay {
namespace {

constexpr std::string_view kSuffix = ".json";
constexpr std::size_t kLongestProgress = std::size_t{256} << 20;
/// Some 10,000 entries of a plan.
constexpr std::size_t kProgressAtOnce = std::size_t{512} << 10;
/// Two changes within such a time may leave a folder with the same one: some file systems have whole seconds alone.
constexpr std::chrono::seconds kCoarsestTime{2};

Error no_study(std::string_view id) {
  return Error{.kind = ErrorKind::not_found, .message = fmt::format("there is no study '{}'", id)};
}

using OnPlannedRun = std::function<void(std::size_t, std::string)>;

/// A line that is no line yet, or no more, is skipped: its run is found by the study's id and done again otherwise.
void each_planned_run(std::string_view text, const OnPlannedRun& on_run) {
  while (!text.empty()) {
    const auto line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    const auto value = parse_json(line);
    if (!value) continue;
    JsonFields fields(*value, "progress");
    const auto entry = fields.integer("entry");
    auto run = fields.text("run");
    if (fields.finish().ok() && entry >= 0) on_run(static_cast<std::size_t>(entry), std::move(run));
  }
}

/// What is in the file behind `offset`, up to a portion.
Result<std::string> read_behind(const fs::path& path, std::uint64_t offset) {
  ASSAY_TRY(const auto file, open_file(path, O_RDONLY));
  std::string text(kProgressAtOnce, '\0');
  std::size_t length = 0;
  while (length < text.size()) {
    const auto got =
        ::pread(file.get(), text.data() + length, text.size() - length, static_cast<off_t>(offset + length));
    if (got == 0) break;
    if (got > 0) length += static_cast<std::size_t>(got);
    if (got < 0 && errno != EINTR) return system_error(errno, "cannot read the progress of a study");
  }
  text.resize(length);
  return text;
}

}  // namespace

Result<void> StudyFolder::create(const Study& study) {
  ASSAY_CHECK(make_folders(path_));
  ASSAY_TRY(const auto hold, FileLock::acquire(lock()));
  std::error_code code;
  if (fs::exists(file(study.id), code)) {
    return Error{.kind = ErrorKind::busy, .message = fmt::format("there is a study '{}' already", study.id)};
  }
  return write_file_atomically(file(study.id), pretty_json(to_json(study)));
}

Result<Study> StudyFolder::find(std::string_view id) const {
  if (!is_file_name(id)) return no_study(id);
  const auto load = [&]() -> Result<Study> {
    ASSAY_TRY(const auto text, read_file(file(id)));
    ASSAY_TRY(const auto value, parse_json(text));
    ASSAY_TRY(auto study, study_from_json(value));
    if (study.id != id) {
      return Error{.kind = ErrorKind::bad_file, .message = fmt::format("it belongs to another study, '{}'", study.id)};
    }
    ASSAY_CHECK(read_progress(id, [&](std::size_t entry, std::string run) {
      if (entry < study.plan.size()) study.plan[entry].run = std::move(run);
    }));
    return study;
  };
  auto study = load();
  if (study.ok()) return study;
  if (study.error().kind == ErrorKind::missing_file) return no_study(id);
  study.error().at = file(id).string();
  return std::move(study).within(fmt::format("study '{}'", id));
}

Result<void> StudyFolder::read_progress(std::string_view id, const OnPlannedRun& on_run) const {
  const auto text = read_file(progress(id), kLongestProgress);
  if (!text) return text.error().kind == ErrorKind::missing_file ? Result<void>() : Result<void>(text.error());
  each_planned_run(*text, on_run);
  return {};
}

/// What cannot be read of its progress is not begun, as in its plan.
std::int64_t StudyFolder::begun(const StudyRow& row) {
  Begun& known = begun_[row.id];
  std::error_code code;
  const auto size = fs::file_size(progress(row.id), code);
  if (code || size < known.read) known = {};
  known.entries.resize(static_cast<std::size_t>(row.planned));
  while (!code && known.read < size) {
    const auto text = read_behind(progress(row.id), known.read);
    // Up to the last whole line: the rest may be one that is being written.
    const auto whole = text ? text->rfind('\n') : std::string::npos;
    if (whole == std::string::npos) break;
    known.read += whole + 1;
    each_planned_run(std::string_view(*text).substr(0, whole), [&](std::size_t entry, const std::string& run) {
      if (entry >= known.entries.size() || run.empty() || known.entries[entry]) return;
      known.entries[entry] = true;
      ++known.count;
    });
  }
  return std::max(row.begun, known.count);
}

/// Reads the files that are new and forgets those that are gone.
void StudyFolder::read_again() {
  std::map<std::string, Known, std::less<>> known;
  rows_.clear();
  for (const auto& id : ids()) {
    std::error_code code;
    Known now{.written = fs::last_write_time(file(id), code), .size = fs::file_size(file(id), code), .row = {}};
    const auto before = known_.find(id);
    if (before != known_.end() && before->second.written == now.written && before->second.size == now.size) {
      now.row = std::move(before->second.row);
    } else if (auto study = find(id); study.ok()) {
      now.row = row_of(*study);
    } else {
      if (study.error().kind != ErrorKind::not_found) log_warning("{}", study.error().text());
      continue;
    }
    rows_.push_back(now.row);
    known.emplace(id, std::move(now));
  }
  known_ = std::move(known);
  sort_studies(rows_);
  std::erase_if(begun_, [&](const auto& one) { return !known_.contains(one.first); });
}

void StudyFolder::look() {
  std::error_code code;
  const auto written = fs::last_write_time(path_, code);
  if (!code && is_settled_ && seen_ == written) return;
  // Before reading: what is added meanwhile gives the folder another time, or is looked for again.
  is_settled_ = !code && written < fs::file_time_type::clock::now() - kCoarsestTime;
  seen_ = written;
  read_again();
}

Result<StudyPage> StudyFolder::list(const StudyQuery& query) {
  const std::lock_guard hold(mutex_);
  look();
  ASSAY_TRY(auto page, page_of(rows_, query));
  for (auto& row : page.rows) row.begun = begun(row);
  return page;
}

Result<void> StudyFolder::note_run(std::string_view id, std::size_t entry, std::string_view run) {
  std::error_code code;
  if (!is_file_name(id) || !fs::exists(file(id), code)) return no_study(id);
  ASSAY_TRY(const auto log, open_file(progress(id), O_WRONLY | O_CREAT | O_APPEND));
  // A line of its own even where somebody was killed in the middle of the one before.
  return write_all(log.get(), fmt::format("\n{}\n", json::serialize(json::object{{"entry", entry}, {"run", run}})));
}

Result<void> StudyFolder::remove(std::string_view id) {
  if (!is_file_name(id)) return no_study(id);
  std::error_code code;
  if (!fs::exists(file(id), code)) return no_study(id);
  ASSAY_TRY(const auto hold, FileLock::acquire(lock()));
  std::error_code ignored;
  fs::remove(progress(id), ignored);
  if (fs::remove(file(id), code)) return {};
  if (!code) return no_study(id);
  return system_error(code.value(), fmt::format("cannot remove the study '{}'", id));
}

std::vector<std::string> StudyFolder::ids() const {
  std::vector<std::string> ids;
  std::error_code code;
  for (fs::directory_iterator entry(path_, code), end; !code && entry != end; entry.increment(code)) {
    auto name = entry->path().filename().string();
    if (!name.ends_with(kSuffix)) continue;
    name.resize(name.size() - kSuffix.size());
    if (is_file_name(name)) ids.push_back(std::move(name));
  }
  std::sort(ids.begin(), ids.end());
  return ids;
}

}  // namespace assay
