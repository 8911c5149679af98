#pragma once

#include <memory>

#include "base/files.h"
#include "base/result.h"
#include "launch/kubernetes/kube_config.h"
#include "launch/kubernetes/kubernetes_place.h"
#include "launch/launcher.h"

namespace assay {

/// Jobs as Jobs of a Kubernetes cluster: one pod per node of a job, which hosts its part of it (pod_host.h) and says
/// everything through its log. They outlive whoever asked. Nothing is asked of the cluster until the first job is.
///
/// Besides what launcher.h says:
/// - `start` returns once the cluster has taken the job on. That its pod cannot start, or its program is not there, is
///   its ending.
/// - `interrupt` is `stop`: the API can send SIGTERM alone. The grace is rounded up to seconds, and is at most that of
///   the job's order.
/// - GPUs by their UUID are `unsupported`; `denied` names the right that is missing.
/// - One owner at a time is kept within this process; between processes, that is up to the lease of the run.
///
/// `notes`: a folder of the owner's, for what `attach` needs to know: where artifacts go, and how the output of a job
/// on several nodes was put together.
std::unique_ptr<Launcher> make_kubernetes_launcher(KubernetesPlace place, KubeAccess access, fs::path notes);

}  // namespace assay
