#include "launch/slurm/slurm_launcher.h"

#include <fmt/format.h>

#include <charconv>
#include <utility>

#include "base/file_lock.h"
#include "base/ids.h"
#include "base/json.h"
#include "base/log.h"
#include "base/spawn.h"
#include "base/text.h"
#include "launch/hosted/folder_job.h"
#include "launch/hosted/job_folder.h"
#include "launch/hosted/job_programs.h"
#include "launch/job.h"
#include "launch/slurm/slurm_commands.h"
#include "launch/slurm/slurm_rest.h"
#include "launch/slurm/slurm_running_job.h"
#include "launch/slurm/slurm_watch.h"

namespace assay {
namespace {

constexpr Nanos kKeepFolders = std::chrono::hours(24 * 30);
/// From Slurm's word that it runs to that of its hosts: prologues of some sites take a while.
constexpr Nanos kBeginPatience = std::chrono::seconds(60);
constexpr Nanos kLookPause = std::chrono::milliseconds(100);
constexpr std::string_view kHandlePrefix = "slurm:";
constexpr int kTicketSchema = 1;
constexpr std::string_view kBeganFile = "began";

std::string shell_word(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return quoted + "'";
}

fs::path ticket_file(const JobFolder& folder) { return folder.path() / "slurm.json"; }

Result<void> write_ticket(const JobFolder& folder, std::int64_t id) {
  return write_file_atomically(ticket_file(folder), pretty_json(json::object{{"schema", kTicketSchema}, {"job", id}}));
}

/// Nothing where none was written.
Result<std::optional<std::int64_t>> read_ticket(const JobFolder& folder) {
  std::error_code code;
  if (!fs::exists(ticket_file(folder), code)) return std::optional<std::int64_t>();
  ASSAY_TRY(const auto text, read_file(ticket_file(folder)));
  ASSAY_TRY(const auto value, parse_json(text));
  ASSAY_CHECK(check_schema(value, kTicketSchema, "slurm.json"));
  JsonFields fields(value, "slurm.json");
  const auto id = fields.integer("job");
  ASSAY_CHECK(fields.finish());
  return std::optional(id);
}

/// As the job itself wrote it down when it began: its owner may have died before it could, and Slurm forgets jobs that
/// have ended within minutes. Nothing where it never began.
std::optional<std::int64_t> read_began(const JobFolder& folder) {
  const auto text = read_file(folder.path() / kBeganFile).value_or("");
  const auto digits = trim(text);
  std::int64_t id = 0;
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), id);
  const bool is_whole = read.ec == std::errc() && read.ptr == digits.data() + digits.size() && id > 0;
  return is_whole ? std::optional(id) : std::nullopt;
}

/// The mark of a job among those of its user: nobody else uses that folder.
std::string key_of(const JobFolder& folder) { return id_from(folder.path().string()); }

/// A job that was not begun and now never will be: whatever Slurm may still start finds no order.
void withdraw(const JobFolder& folder) {
  std::error_code code;
  const fs::path aside = folder.path().string() + ".withdrawn-" + new_id();
  fs::rename(folder.path(), aside, code);
  fs::remove_all(code ? folder.path() : aside, code);
}

std::shared_ptr<const SlurmControl> control_of(const SlurmLauncherOptions& options) {
  if (options.place.rest.empty()) return std::make_shared<SlurmCommands>(options.environment);
  return std::make_shared<SlurmRest>(options.place.rest, options.environment);
}

class SlurmLauncher final : public Launcher {
 public:
  explicit SlurmLauncher(SlurmLauncherOptions options)
      : options_(std::move(options)), slurm_(control_of(options_)), watch_(slurm_) {}

  std::string_view name() const override { return "slurm"; }

  Result<std::unique_ptr<RunningJob>> start(const Job& job) override {
    ASSAY_CHECK(check_arguments(job.arguments));
    ASSAY_CHECK(check_environment(job.environment));
    const JobFolder folder = folder_for(options_.folder, job.token);
    ASSAY_CHECK(folder.create(job));
    // Until Slurm has it, so that nobody takes it for one that was left half-way.
    auto launching = FileLock::claim(launch_lock(folder));
    auto id = launching ? submit(folder, job) : Result<std::int64_t>(launching.error());
    if (!id) {
      withdraw(folder);
      return std::move(id).error();
    }
    const SlurmTicket ticket{.folder = folder, .id = *id, .nodes = job.ranks.nodes};
    watch_.follow(ticket.id, key_of(folder));
    if (auto begun = await_begin(ticket); !begun) {
      if (auto cancelled = slurm_->cancel(ticket.id); !cancelled) log_debug("{}", cancelled.error().text());
      watch_.forget(ticket.id);
      withdraw(folder);
      return std::move(begun).error();
    }
    return own(ticket, {});
  }

  Result<std::unique_ptr<RunningJob>> attach(std::string_view handle, PerStream<std::uint64_t> taken) override {
    const Error unknown{
        .kind = ErrorKind::not_found,
        .message = fmt::format("no Slurm job '{}' was started from '{}'", handle, options_.folder.string())};
    if (handle.empty()) return unknown;
    const bool is_handle = handle.starts_with(kHandlePrefix);
    const JobFolder folder =
        is_handle ? JobFolder(handle.substr(kHandlePrefix.size())) : folder_for(options_.folder, handle);
    std::error_code code;
    if (!fs::exists(folder.order(), code)) return unknown;
    ASSAY_TRY(const Job job, folder.read_job());
    ASSAY_TRY(auto id, read_ticket(folder));
    if (!id) {
      ASSAY_TRY(id, find_submitted(folder));
    }
    if (!id) return unknown;
    // One that has its owner must not be followed twice.
    if (FileLock::state(folder.owner()) == LockState::held) {
      return Error{.kind = ErrorKind::busy,
                   .message = fmt::format("the job '{}' has its owner already: {}", handle, owner_of(folder.owner()))};
    }
    watch_.follow(*id, key_of(folder));
    return own({.folder = folder, .id = *id, .nodes = job.ranks.nodes}, taken);
  }

 private:
  static fs::path launch_lock(const JobFolder& folder) { return folder.path() / "launch"; }

  Result<std::int64_t> submit(const JobFolder& folder, const Job& job) const {
    const fs::path script = folder.path() / "batch.sh";
    ASSAY_CHECK(write_file_atomically(script, batch_script(folder.path(), options_.assay.string(), job.ranks.nodes)));
    ASSAY_TRY(const auto id, slurm_->submit(slurm_request(options_.place, job, key_of(folder)), script));
    ASSAY_CHECK(write_ticket(folder, id));
    return id;
  }

  /// Until it runs, has failed to, or Slurm has said that it waits.
  Result<void> await_begin(const SlurmTicket& ticket) {
    const SystemClock clock;
    const SteadyTime asked = clock.now();
    while (clock.now() < asked + kBeginPatience) {
      auto begun = await_start(ticket.folder, ticket.nodes, clock.now() + kLookPause);
      if (begun || begun.error().kind != ErrorKind::timeout) return begun;
      if (auto loss = find_slurm_loss(ticket, watch_, 0, clock.now())) return *std::move(loss);
      const auto sight = watch_.sight(ticket.id);
      const bool waits = !sight || stage_of(sight->record.state) == SlurmStage::waiting;
      if (waits && clock.now() > asked + options_.start_patience) return {};
    }
    return {};
  }

  /// The job of a folder whose owner died while it handed it in: nothing if Slurm does not have it.
  Result<std::optional<std::int64_t>> find_submitted(const JobFolder& folder) {
    ASSAY_TRY(const auto launching, FileLock::claim(launch_lock(folder)));
    if (const auto id = read_began(folder)) {
      ASSAY_CHECK(write_ticket(folder, *id));
      return id;
    }
    ASSAY_TRY(const auto records, slurm_->list({}));
    for (const auto& [id, record] : records) {
      if (record.key != key_of(folder)) continue;
      ASSAY_CHECK(write_ticket(folder, id));
      return std::optional(id);
    }
    withdraw(folder);
    return std::optional<std::int64_t>();
  }

  Result<std::unique_ptr<RunningJob>> own(const SlurmTicket& ticket, PerStream<std::uint64_t> taken) {
    auto inner = own_folder_job(ticket.folder, {.handle = std::string(kHandlePrefix) + ticket.folder.path().string(),
                                                .taken = taken,
                                                .find_loss = [this, ticket](std::int64_t part) {
                                                  return find_slurm_loss(ticket, watch_, part, SystemClock().now());
                                                }});
    if (!inner) {
      watch_.forget(ticket.id);
      return std::move(inner).error();
    }
    return make_slurm_running_job(std::move(*inner), ticket, watch_);
  }

  const SlurmLauncherOptions options_;
  const std::shared_ptr<const SlurmControl> slurm_;
  SlurmWatch watch_;
};

}  // namespace

std::string batch_script(const fs::path& folder, const std::string& assay, std::int64_t nodes) {
  // Each task is told its number by Slurm alone, so that it is a shell that asks for it. Since 22.05 srun does not know
  // by itself how many CPUs the job asked for.
  return fmt::format(R"(#!/bin/sh
# Hosts a job of assay on every node of its allocation. Once more it does nothing: a part is hosted once.
folder={}
assay={}
exec >>"$folder/slurm.out" 2>&1
[ -e "$folder/{}" ] || echo "$SLURM_JOB_ID" >"$folder/{}"
exec srun --nodes={} --ntasks={} --ntasks-per-node=1 ${{SLURM_CPUS_PER_TASK:+--cpus-per-task=$SLURM_CPUS_PER_TASK}} \
  --cpu-bind=none --mpi=none --kill-on-bad-exit=0 --wait=0 \
  sh -c 'exec "$0" {} "$1" "$SLURM_PROCID/$SLURM_NTASKS" -' "$assay" "$folder"
)",
                     shell_word(folder.string()), shell_word(assay), kBeganFile, kBeganFile, nodes, nodes,
                     kHostJobArgument);
}

Result<std::unique_ptr<Launcher>> make_slurm_launcher(SlurmLauncherOptions options) {
  if (!options.place.folder.empty()) options.folder = options.place.folder;
  if (!options.place.assay.empty()) options.assay = options.place.assay;
  ASSAY_CHECK(make_folders(options.folder).within("the folder of Slurm's jobs"));
  std::error_code code;
  const fs::path whole = fs::canonical(options.folder, code);
  if (!code) options.folder = whole;
  remove_old_jobs(options.folder, kKeepFolders);
  return std::unique_ptr<Launcher>(std::make_unique<SlurmLauncher>(std::move(options)));
}

}  // namespace assay
