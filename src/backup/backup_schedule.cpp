#include "backup/backup_schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "backup/manifest.h"

namespace assay {
namespace {

constexpr std::string_view kPrefix = "assay-";
constexpr std::string_view kPartial = ".partial";
constexpr Nanos kLongestRetry = std::chrono::hours(1);

std::string name_at(WallTime time) {
  std::string text = iso8601(time);
  // 2026-11-16T16:45:00.000Z, without what is not needed to sort by.
  text.resize(text.find('.'));
  std::erase_if(text, [](char character) { return character == '-' || character == ':'; });
  return fmt::format("{}{}Z", kPrefix, text);
}

/// When a backup of that name was made; nothing for a name of somebody else's.
std::optional<WallTime> time_in(std::string_view name) {
  if (!name.starts_with(kPrefix)) return std::nullopt;
  name.remove_prefix(kPrefix.size());
  if (name.size() != 16 || name[8] != 'T' || name[15] != 'Z') return std::nullopt;
  const auto part = [&](std::size_t at, std::size_t size) { return name.substr(at, size); };
  const auto time = parse_iso8601(
      fmt::format("{}-{}-{}T{}:{}:{}.000Z", part(0, 4), part(4, 2), part(6, 2), part(9, 2), part(11, 2), part(13, 2)));
  return time ? std::optional(*time) : std::nullopt;
}

bool is_partial(std::string_view name) {
  return name.ends_with(kPartial) && time_in(name.substr(0, name.size() - kPartial.size()));
}

Result<void> remove_folder(const fs::path& folder) {
  std::error_code code;
  fs::remove_all(folder, code);
  if (code) return system_error(code.value(), fmt::format("cannot remove '{}'", folder.string()));
  return {};
}

}  // namespace

BackupSchedule::BackupSchedule(Options options, Make make, const Clock& clock)
    : options_(std::move(options)), make_(std::move(make)), clock_(clock) {}

/// Of whole backups, oldest first.
Result<std::vector<std::string>> BackupSchedule::names() const {
  std::vector<std::string> found;
  std::error_code code;
  for (auto at = fs::directory_iterator(options_.to, code); !code && at != fs::directory_iterator();
       at.increment(code)) {
    const std::string name = at->path().filename();
    std::error_code ignored;
    if (time_in(name) && fs::exists(at->path() / kManifestName, ignored)) found.push_back(name);
  }
  if (code && code != std::errc::no_such_file_or_directory) {
    return system_error(code.value(), fmt::format("cannot read the folder '{}'", options_.to.string()));
  }
  std::sort(found.begin(), found.end());
  return found;
}

bool BackupSchedule::is_due(const std::vector<std::string>& names) const {
  const auto newest = names.empty() ? std::nullopt : time_in(names.back());
  if (!newest) return true;
  const Nanos age = clock_.wall() - *newest;
  if (age >= options_.every) return true;
  // From a time that is yet to come, by a clock that was wrong: then our own last one counts.
  return age < Nanos(0) && (!made_ || clock_.now() - *made_ >= options_.every);
}

std::optional<Result<void>> BackupSchedule::tick(const std::stop_token& stop) {
  if (not_before_ && clock_.now() < *not_before_) return std::nullopt;
  const auto there = names();
  if (there && !is_due(*there)) return std::nullopt;
  auto outcome = there ? make_one(stop) : Result<void>(there.error());
  if (outcome) {
    not_before_.reset();
  } else {
    not_before_ = clock_.now() + std::min(kLongestRetry, options_.every / 10);
  }
  return outcome;
}

Result<void> BackupSchedule::make_one(const std::stop_token& stop) {
  ASSAY_CHECK(make_folders(options_.to));
  // What a leader that was killed has left.
  std::error_code code;
  for (const auto& entry : fs::directory_iterator(options_.to, code)) {
    if (is_partial(entry.path().filename().string())) ASSAY_CHECK(remove_folder(entry.path()));
  }
  const std::string name = name_at(clock_.wall());
  ASSAY_CHECK(make_(options_.to / name, stop));
  made_ = clock_.now();
  ASSAY_TRY(auto there, names());
  // By their names the new one may be older, after a clock that was wrong.
  std::erase(there, name);
  const std::size_t others = options_.keep - 1;
  const std::size_t too_many = there.size() > others ? there.size() - others : 0;
  for (std::size_t at = 0; at < too_many; ++at) ASSAY_CHECK(remove_folder(options_.to / there[at]));
  return {};
}

}  // namespace assay
