#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/file_lock.h"
#include "base/files.h"
#include "base/json.h"
#include "launch/hosted/job_order.h"
#include "launch/hosted/part_ending.h"
#include "launch/job_stream.h"

namespace assay {

struct Job;

// A job's folder at the place where it runs: what its owner and its hosts say to each other. Written so that a reader
// on another machine of a network file system sees old or new, never half: streams are only appended to, records are
// replaced in one step.
//
//   order.json          the job (job_order.h); written once, before anybody hosts it
//   scratch/            Job::scratch, and what the job leaves in its artifacts
//   wish-0.json         what the owner wants of each part
//   owner               lock of the owner: who follows the job
//   part-0/             a part for each node:
//     host.json           who hosts it
//     lock                of the host, as long as it lives
//     out, error, events  what the job wrote there
//     readings            what the host measured of its machine meanwhile
//     ending.json         how it ended; written last

/// What an owner wants of a running job. A later wish has a higher number.
struct JobWish {
  enum class Kind { interrupt, stop, kill };
  std::int64_t sequence = 0;
  Kind kind = Kind::stop;
  Nanos grace{};
};
json::object to_json(const JobWish& wish);
Result<JobWish> wish_from_json(const json::value& value);

/// The process that hosts a part, and the machine it is on.
struct HostRecord {
  std::string host;  ///< name of the machine
  pid_t pid = 0;
  std::uint64_t start_ticks = 0;  ///< with pid and boot it names the process for good
  std::string boot;               ///< id of the machine's boot
  int rendezvous_port = 0;        ///< one that was free there a moment ago; 0: the job needs none, or was told one
  json::object machine;           ///< its provenance, as the host describes it; may be empty
};
json::object to_json(const HostRecord& record);
Result<HostRecord> host_record_from_json(const json::value& value);

/// Where things are. Any number of threads.
class JobFolder {
 public:
  explicit JobFolder(fs::path path) : path_(std::move(path)) {}

  const fs::path& path() const { return path_; }
  fs::path order() const { return path_ / "order.json"; }
  fs::path scratch() const { return path_ / "scratch"; }
  fs::path artifacts() const { return scratch() / "artifacts"; }
  fs::path wish(std::int64_t number) const { return path_ / ("wish-" + std::to_string(number) + ".json"); }
  fs::path owner() const { return path_ / "owner"; }
  fs::path part(std::int64_t number) const { return path_ / ("part-" + std::to_string(number)); }
  fs::path host(std::int64_t number) const { return part(number) / "host.json"; }
  fs::path lock(std::int64_t number) const { return part(number) / "lock"; }
  fs::path stream(std::int64_t number, JobStream stream) const;
  fs::path ending(std::int64_t number) const { return part(number) / "ending.json"; }

  /// Makes it for a job: `busy` where there is one already. A copy of its scratch folder comes with it.
  Result<void> create(const Job& job) const;
  /// The two ends of `create`, for a job that arrives piece by piece: makes the folder without a job in it …
  Result<void> reserve(std::string_view token) const;
  /// … and puts the job there, once everything else is.
  Result<void> place(const Job& job) const;
  Result<Job> read_job() const;

  /// Nothing where nobody has written it yet; `bad_file` for what cannot be read.
  Result<std::optional<HostRecord>> read_host(std::int64_t number) const;
  Result<std::optional<PartEnding>> read_ending(std::int64_t number) const;
  Result<std::optional<JobWish>> read_wish(std::int64_t number) const;

  /// The next wish: it gets the number behind that of the last one. By the owner alone.
  Result<void> make_wish(std::int64_t number, JobWish::Kind kind, Nanos grace) const;

 private:
  fs::path path_;
};

/// The folder of the job with that token below `root`: the same for everybody who knows the token. A job without one
/// gets a name of its own.
JobFolder folder_for(const fs::path& root, std::string_view token);

/// Removes the folders of jobs below `root` that ended longer ago than `age`, and those that nobody hosted for as long.
/// Whatever is in the way of it stays.
void remove_old_jobs(const fs::path& root, Nanos age);

}  // namespace assay
