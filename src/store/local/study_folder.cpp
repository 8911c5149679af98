#include "store/local/study_folder.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>

#include "base/file_lock.h"
#include "base/json.h"
#include "store/local/run_folder.h"

namespace assay {
namespace {

constexpr std::string_view kSuffix = ".json";
constexpr std::size_t kLongestProgress = std::size_t{256} << 20;

Error no_study(std::string_view id) {
  return Error{.kind = ErrorKind::not_found, .message = fmt::format("there is no study '{}'", id)};
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
    ASSAY_CHECK(read_progress(study));
    return study;
  };
  auto study = load();
  if (study.ok()) return study;
  if (study.error().kind == ErrorKind::missing_file) return no_study(id);
  study.error().at = file(id).string();
  return std::move(study).within(fmt::format("study '{}'", id));
}

/// A line that is no line yet, or no more, is skipped: its run is found by the study's id and done again otherwise.
Result<void> StudyFolder::read_progress(Study& study) const {
  const auto text = read_file(progress(study.id), kLongestProgress);
  if (!text) return text.error().kind == ErrorKind::missing_file ? Result<void>() : Result<void>(text.error());
  std::string_view rest = *text;
  while (!rest.empty()) {
    const auto line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    const auto value = parse_json(line);
    if (!value) continue;
    JsonFields fields(*value, "progress");
    const auto entry = fields.integer("entry");
    auto run = fields.text("run");
    if (!fields.finish().ok() || entry < 0 || static_cast<std::size_t>(entry) >= study.plan.size()) continue;
    study.plan[static_cast<std::size_t>(entry)].run = std::move(run);
  }
  return {};
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
