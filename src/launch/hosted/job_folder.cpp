#include "launch/hosted/job_folder.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>

#include "base/ids.h"
#include "launch/job.h"

namespace assay {
namespace {

constexpr int kRecordSchema = 1;
constexpr std::array<std::string_view, 3> kWishNames = {"interrupt", "stop", "kill"};

/// Reads a record that may not be there yet.
template <typename T, typename Parse>
Result<std::optional<T>> read_record(const fs::path& path, Parse parse) {
  std::error_code code;
  if (!fs::exists(path, code)) return std::optional<T>();
  ASSAY_TRY(const auto text, read_file(path));
  ASSAY_TRY(const auto value, parse_json(text).within(path.string()));
  ASSAY_TRY(auto record, parse(value).within(path.string()));
  return std::optional<T>(std::move(record));
}

/// Whether it ended, or was never begun, before that time. Of a job of several nodes any part may be here.
bool is_old(const fs::path& path, fs::file_time_type before) {
  const JobFolder folder(path);
  std::error_code code;
  auto last = fs::last_write_time(folder.order(), code);
  if (code) last = fs::last_write_time(path, code);
  if (code) return false;
  for (fs::directory_iterator entry(path, code); !code && entry != fs::directory_iterator(); entry.increment(code)) {
    const std::string name = entry->path().filename().string();
    if (!name.starts_with("part-")) continue;
    const auto number = std::atoll(name.c_str() + 5);
    // One whose host lives goes on; so does one of which nobody can tell.
    if (FileLock::state(folder.lock(number)) != LockState::free) return false;
    std::error_code none;
    if (const auto ended = fs::last_write_time(folder.ending(number), none); !none) last = std::max(last, ended);
  }
  return !code && last < before;
}

}  // namespace

json::object to_json(const JobWish& wish) {
  return {{"schema", kRecordSchema},
          {"sequence", wish.sequence},
          {"wish", kWishNames[static_cast<std::size_t>(wish.kind)]},
          {"grace_ns", wish.grace.count()}};
}

Result<JobWish> wish_from_json(const json::value& value) {
  ASSAY_CHECK(check_schema(value, kRecordSchema, "the wish"));
  JsonFields fields(value, "the wish");
  JobWish wish{.sequence = fields.integer("sequence"), .grace = Nanos(fields.integer_or("grace_ns", 0))};
  const auto name = fields.text("wish");
  const auto* const found = std::find(kWishNames.begin(), kWishNames.end(), name);
  if (found == kWishNames.end()) fields.fail("wish", "is not interrupt, stop or kill");
  ASSAY_CHECK(fields.finish());
  wish.kind = static_cast<JobWish::Kind>(found - kWishNames.begin());
  return wish;
}

json::object to_json(const HostRecord& record) {
  return {{"schema", kRecordSchema},           {"host", record.host}, {"pid", record.pid},
          {"start_ticks", record.start_ticks}, {"boot", record.boot}, {"rendezvous_port", record.rendezvous_port},
          {"machine", record.machine}};
}

Result<HostRecord> host_record_from_json(const json::value& value) {
  ASSAY_CHECK(check_schema(value, kRecordSchema, "the host's record"));
  JsonFields fields(value, "the host's record");
  HostRecord record{.host = fields.text("host"),
                    .pid = fields.small_integer("pid"),
                    .start_ticks = static_cast<std::uint64_t>(fields.integer_or("start_ticks", 0)),
                    .boot = fields.text_or("boot", ""),
                    .rendezvous_port = fields.small_integer_or("rendezvous_port", 0),
                    .machine = fields.object_or_empty("machine")};
  ASSAY_CHECK(fields.finish());
  return record;
}

fs::path JobFolder::stream(std::int64_t number, JobStream stream) const {
  constexpr std::array<const char*, kJobStreams.size()> kNames = {"out", "error", "events", "readings"};
  return part(number) / kNames[static_cast<std::size_t>(stream)];
}

Result<void> JobFolder::create(const Job& job) const {
  // Before anything is made: a job that cannot be written leaves nothing behind.
  ASSAY_CHECK(check_order(job));
  ASSAY_CHECK(reserve(job.token));
  if (job.scratch) {
    std::error_code code;
    fs::copy(*job.scratch, scratch(), fs::copy_options::recursive | fs::copy_options::copy_symlinks, code);
    if (code)
      return Error{.kind = ErrorKind::io, .message = fmt::format("copying the scratch folder: {}", code.message())};
  }
  return place(job);
}

Result<void> JobFolder::reserve(std::string_view token) const {
  ASSAY_CHECK(make_folders(path_.parent_path()));
  // Made by exactly one of several that ask for the same.
  if (::mkdir(path_.c_str(), 0700) != 0) {
    if (errno != EEXIST) return system_error(errno, fmt::format("cannot make '{}'", path_.string()));
    return Error{.kind = ErrorKind::busy,
                 .message = fmt::format("the job '{}' was started already: it is in '{}'", token, path_.string())};
  }
  return make_folders(artifacts());
}

Result<void> JobFolder::place(const Job& job) const {
  ASSAY_TRY(const auto text, write_order(job));
  return write_file_atomically(order(), text);
}

Result<Job> JobFolder::read_job() const {
  ASSAY_TRY(const auto text, read_file(order()));
  return read_order(text).within(order().string());
}

Result<std::optional<HostRecord>> JobFolder::read_host(std::int64_t number) const {
  return read_record<HostRecord>(host(number), host_record_from_json);
}

Result<std::optional<PartEnding>> JobFolder::read_ending(std::int64_t number) const {
  return read_record<PartEnding>(ending(number), part_ending_from_json);
}

Result<std::optional<JobWish>> JobFolder::read_wish(std::int64_t number) const {
  return read_record<JobWish>(wish(number), wish_from_json);
}

Result<void> JobFolder::make_wish(std::int64_t number, JobWish::Kind kind, Nanos grace) const {
  ASSAY_TRY(const auto last, read_wish(number));
  const JobWish next{.sequence = last ? last->sequence + 1 : 1, .kind = kind, .grace = grace};
  return write_file_atomically(wish(number), pretty_json(to_json(next)));
}

JobFolder folder_for(const fs::path& root, std::string_view token) {
  return JobFolder(root / (token.empty() ? new_id() : id_from(token)));
}

void remove_old_jobs(const fs::path& root, Nanos age) {
  const auto before = fs::file_time_type::clock::now() - age;
  std::error_code code;
  std::vector<fs::path> old;
  for (fs::directory_iterator entry(root, code); !code && entry != fs::directory_iterator(); entry.increment(code)) {
    if (is_old(entry->path(), before)) old.push_back(entry->path());
  }
  for (const auto& folder : old) fs::remove_all(folder, code);
}

}  // namespace assay
