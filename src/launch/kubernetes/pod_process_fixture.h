#pragma once

#include <sys/types.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/files.h"
#include "base/json.h"
#include "base/result.h"

namespace assay {

class ResponseStream;

/// For tests: the program of a pod as a process of this machine, in the place of a container. It is killed with this
/// object. One thread.
class PodProcess {
 public:
  /// The process with its order, its log and the job's folder is below `folder`.
  explicit PodProcess(fs::path folder) : folder_(std::move(folder)) {}
  PodProcess(const PodProcess&) = delete;
  PodProcess& operator=(const PodProcess&) = delete;
  ~PodProcess() { kill(); }

  const fs::path& folder() const { return folder_; }
  /// `order`: the contents of the Secret.
  Result<void> start(const std::vector<std::string>& command, std::string_view order,
                     const std::map<std::string, std::string>& environment = {});
  bool started() const { return pid_ > 0; }
  bool ended() const { return ended_; }
  /// SIGTERM, and SIGKILL after the grace. A later call may only shorten that.
  void terminate(Nanos grace);
  /// SIGKILL, and waits for it.
  void kill();
  /// Its exit code, as containers have it, when it has just ended; nothing before and afterwards. Sends the SIGKILL
  /// that is due.
  std::optional<int> look();

  /// What is in the log so far is not to be had any more.
  void throw_log_away();
  std::size_t thrown_away() const { return thrown_away_; }
  /// The part of the log from there on, at most a few MiB of it.
  std::string log_from(std::size_t offset) const;

 private:
  const fs::path folder_;
  pid_t pid_ = -1;
  bool ended_ = false;
  bool terminated_ = false;
  std::optional<SteadyTime> kill_at_;
  std::size_t thrown_away_ = 0;
};

/// Those who follow logs of pods. One thread.
class FollowedLogs {
 public:
  std::shared_ptr<ResponseStream> follow(std::shared_ptr<const PodProcess> process);
  /// Passes on what is new; a log whose process has ended comes to its end.
  void feed();
  bool is_followed(const PodProcess& process) const;
  /// Breaks all of them off.
  void cut();

 private:
  struct Follower {
    std::shared_ptr<ResponseStream> stream;
    std::shared_ptr<const PodProcess> process;
    std::size_t sent = 0;
  };
  std::vector<Follower> followers_;
};

/// What the only container of a pod runs, with `program` in the place of `assay` and the paths of this machine in the
/// place of its own. All pods are on one machine, so that the ranks meet at this port of loopback.
std::vector<std::string> command_of_pod(const json::object& pod, const fs::path& program, const fs::path& folder,
                                        int meeting_port);

}  // namespace assay
