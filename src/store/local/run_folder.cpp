#include "store/local/run_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/json.h"
#include "store/lease.h"
#include "store/read_journals.h"

namespace assay {
namespace {

constexpr std::string_view kRankSuffix = ".journal";

Result<Lease> lease_from(const json::value& value, const std::string& run) {
  JsonFields fields(value, "lease");
  Lease lease{.run = run, .journal = std::string(kOwnersJournal), .owner = fields.text("owner")};
  lease.epoch = static_cast<std::uint64_t>(fields.integer("epoch"));
  const auto expires = fields.text_or("expires", "");
  ASSAY_CHECK(fields.finish());
  if (!expires.empty()) {
    ASSAY_TRY(lease.expires, parse_iso8601(expires));
  }
  return lease;
}

}  // namespace

fs::path RunFolder::journal(std::string_view name) const {
  if (name == kOwnersJournal) return path_ / name;
  return ranks() / (std::string(name) + std::string(kRankSuffix));
}

std::vector<std::string> RunFolder::journals() const {
  std::vector<std::string> names;
  std::error_code code;
  for (fs::directory_iterator entry(ranks(), code), end; !code && entry != end; entry.increment(code)) {
    auto name = entry->path().filename().string();
    if (!name.ends_with(kRankSuffix)) continue;
    name.resize(name.size() - kRankSuffix.size());
    names.push_back(std::move(name));
  }
  // rank-2 before rank-10.
  std::sort(names.begin(), names.end(), [](const std::string& a, const std::string& b) {
    return std::pair(a.size(), std::string_view(a)) < std::pair(b.size(), std::string_view(b));
  });
  if (fs::exists(journal(), code)) names.insert(names.begin(), std::string(kOwnersJournal));
  return names;
}

Result<Run> RunFolder::load() const {
  std::error_code code;
  if (!is_file_name(id_) || !fs::is_directory(path_, code)) {
    return Error{.kind = ErrorKind::not_found, .message = fmt::format("there is no run '{}'", id_)};
  }
  const auto load = [&]() -> Result<Run> {
    auto text = read_file(record());
    if (!text) {
      auto error = std::move(text).error();
      if (error.kind == ErrorKind::missing_file)
        error = {.kind = ErrorKind::bad_file, .message = "the file is missing"};
      return error;
    }
    ASSAY_TRY(const auto value, parse_json(*text));
    ASSAY_TRY(auto run, run_from_json(value));
    if (run.id != id_) {
      return Error{.kind = ErrorKind::bad_file, .message = fmt::format("it belongs to another run, '{}'", run.id)};
    }
    return run;
  };
  auto run = load();
  if (!run) run.error().at = record().string();
  return std::move(run).within(fmt::format("run '{}': run.json", id_));
}

Result<void> RunFolder::save(const Run& run) const {
  return write_file_atomically(record(), pretty_json(to_json(run)));
}

std::string RunFolder::owner_name() const { return owner_of(owner_lock()); }

Result<std::optional<Lease>> RunFolder::load_lease() const {
  auto text = read_file(lease());
  if (!text) {
    if (text.error().kind == ErrorKind::missing_file) return std::optional<Lease>();
    return std::move(text).error();
  }
  const auto load = [&]() -> Result<Lease> {
    ASSAY_TRY(const auto value, parse_json(*text));
    return lease_from(value, id_);
  };
  auto found = load();
  if (!found) return std::move(std::move(found).within(fmt::format("run '{}': lease.json", id_))).error();
  return std::optional(std::move(found).value());
}

Result<void> RunFolder::save_lease(const Lease& lease) const {
  json::object object{{"owner", lease.owner}, {"epoch", lease.epoch}};
  if (lease.expires) object["expires"] = iso8601(*lease.expires);
  return write_file_atomically(this->lease(), json::serialize(object));
}

Result<std::string> RunFolder::read_journal(std::string_view name, std::uint64_t offset, std::size_t length) const {
  const Error missing{.kind = ErrorKind::not_found, .message = fmt::format("run '{}' has no journal '{}'", id_, name)};
  if (!is_file_name(name)) return missing;
  const auto file = open_file(journal(name), O_RDONLY);
  if (!file) return file.error().kind == ErrorKind::missing_file ? missing : file.error();
  std::string bytes(length, '\0');
  std::size_t filled = 0;
  while (filled < length) {
    const ssize_t count =
        ::pread(file->get(), bytes.data() + filled, length - filled, static_cast<off_t>(offset + filled));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return system_error(errno, "cannot read the journal");
    if (count == 0) break;
    filled += static_cast<std::size_t>(count);
  }
  bytes.resize(filled);
  return bytes;
}

std::uint64_t RunFolder::bytes() const {
  std::uint64_t bytes = 0;
  std::error_code code;
  for (fs::recursive_directory_iterator entry(path_, code), end; !code && entry != end; entry.increment(code)) {
    std::error_code gone;
    const auto size = entry->is_regular_file(gone) ? entry->file_size(gone) : 0;
    if (!gone) bytes += size;
  }
  return bytes;
}

void RunFolder::sync() const {
  for (const auto& name : journals()) {
    if (const auto file = open_file(journal(name), O_RDONLY); file.ok()) ::fdatasync(file->get());
  }
  // The names of new files, and of the run's own folder, must survive a power cut as well as what is in them.
  for (const auto& folder : {ranks(), artifacts(), path_, path_.parent_path()}) {
    if (const auto opened = open_file(folder, O_RDONLY | O_DIRECTORY); opened.ok()) ::fsync(opened->get());
  }
}

}  // namespace assay
