#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "launch/launcher.h"
#include "launch/ssh/ssh_command.h"

namespace assay {

struct SshLauncherOptions {
  std::vector<std::string> hosts;  ///< as `ssh` knows them
  fs::path program;                ///< this binary, which is copied to the hosts
  std::string engine;  ///< where assay-engine is on the hosts; empty: beside the copy, ASSAY_ENGINE, the PATH
  /// Under which the first host is reached by the others; empty: its name in the ssh configuration.
  std::string address;
  fs::path state;  ///< a folder of ours, for notes on jobs of several nodes
  /// For how long a host may be out of reach before its job counts as lost.
  Nanos patience = std::chrono::minutes(5);
  SshSettings ssh = {};
};

/// Jobs on other machines through the user's own OpenSSH. A host needs sshd, `sh` and sha256sum; it gets a copy of
/// this program in `~/.cache/assay/SHA256/`, and the folders of its jobs in `~/.cache/assay/jobs/`. Jobs outlive
/// whoever asked. A job runs on the hosts that it names, else on the first ones of the list; every node of it is
/// another host. Hosts are worked with in parallel. The program must ignore SIGPIPE.
std::unique_ptr<Launcher> make_ssh_launcher(SshLauncherOptions options);

}  // namespace assay
