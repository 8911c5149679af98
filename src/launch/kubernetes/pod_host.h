#pragma once

#include <functional>
#include <optional>

#include "base/clock.h"
#include "base/files.h"
#include "base/json.h"
#include "launch/hosted/job_host.h"
#include "launch/hosted/job_order.h"
#include "launch/hosted/job_programs.h"
#include "launch/hosted/part_ending.h"
#include "launch/launcher.h"

namespace assay {

struct PodHostOptions {
  fs::path order;                        ///< the folder that the Secret is mounted at
  fs::path folder;                       ///< empty, of the pod's own: for the job
  PartOfJob part;                        ///< which node of the job this pod is
  std::optional<Rendezvous> rendezvous;  ///< of a job on several nodes
  int stop_fd = -1;                      ///< becomes readable when the pod is to end, see launch/hosted/job_host.h
  int out_fd = 1;                        ///< what the container logs
  std::function<json::object()> describe_machine = [] { return json::object(); };
  WatchMachine watch = {};  ///< see launch/hosted/job_host.h
  Nanos extra_time = HostOptions().extra_time;
};

/// What runs in a pod: hosts its part of the job through `local`, and writes all that it says, what it leaves in its
/// artifacts and how it ended to the container's log, as lines of launch/hosted/relay_line.h: a pod has no other way
/// out that needs no rights. Blocks until the job has ended; one thread. The error of one that could not be started is
/// in the log, too.
PartEnding host_pod(const PodHostOptions& options, Launcher& local, const Clock& clock);

/// First argument of the program where it is to do that: `__host-pod ORDER FOLDER PART MEET`, with PART as K/N and MEET
/// as ADDRESS:PORT or `-`. For the manifests of this folder alone.
inline constexpr const char* kHostPodArgument = "__host-pod";
/// Runs it; the exit code is the job's.
int host_pod_main(int argc, char** argv, const HostServices& services);

}  // namespace assay
