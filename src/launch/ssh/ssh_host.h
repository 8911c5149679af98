#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/files.h"
#include "launch/hosted/job_folder.h"
#include "launch/ssh/ssh_child.h"
#include "launch/ssh/ssh_command.h"

namespace assay {

struct Job;

/// The program to bring to a host: this one.
struct ProgramCopy {
  fs::path path;
  std::string sha256;
};
Result<ProgramCopy> describe_program(const fs::path& path);

/// A host that was connected to, with one connection for all that is done there (ControlMaster). Several can be worked
/// with at once, each by one thread.
class SshHost {
 public:
  /// Blocks until the connection stands, at most somewhat longer than the connect timeout.
  /// Errors: see `ssh_error`; `missing_file` without an ssh.
  static Result<SshHost> connect(const SshSettings& settings, std::string host);

  const std::string& name() const { return host_; }

  /// Sees to it that the program is in the host's cache folder, whole: copies it once, whoever else does the same at
  /// the moment. Removes copies that nobody used for a month. Blocks, for minutes at worst.
  Result<void> install(const ProgramCopy& program);

  /// Has the host take part of a job; returns once its program runs there. `engine`: where assay-engine is there;
  /// empty: wherever it is found. Errors: those of `Launcher::start`.
  Result<HostRecord> take_job(const std::string& id, const Job& job, PartOfJob part, const std::string& meeting,
                              const std::string& engine);
  /// The job of that id, if it is there.
  Result<std::optional<Job>> read_order_of(const std::string& id) const;
  /// Ends the job and removes what is there of it. Does not wait for its processes.
  void drop_job(const std::string& id);

  /// Of an installed program, with these arguments: what to give to ssh for a channel of its own.
  std::vector<std::string> command(const std::vector<std::string>& arguments) const;

 private:
  SshHost(const SshSettings& settings, std::string host) : settings_(settings), host_(std::move(host)) {}
  Result<std::string> run(const std::string& script, std::string input, Nanos deadline) const;

  SshSettings settings_;
  std::string host_;
  std::unique_ptr<TemporaryFolder> folder_;  ///< of the connection's socket
  std::optional<SshChild> master_;
  std::string program_;  ///< its path there
};

/// The name under which other machines reach it, as the user's ssh configuration resolves it.
Result<std::string> address_of(const SshSettings& settings, const std::string& host);

}  // namespace assay
