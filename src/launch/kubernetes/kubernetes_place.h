#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"

namespace assay {

/// A taint that pods are to put up with. An empty value: whatever its value is.
struct KubeToleration {
  std::string key, value, effect;
  bool operator==(const KubeToleration&) const = default;
};

/// Where in a cluster jobs go.
struct KubernetesPlace {
  std::string context;     ///< of the kubeconfig; empty: the current one
  std::string name_space;  ///< empty: that of the context
  std::string image;       ///< with assay and, for training, assay-engine
  std::map<std::string, std::string> selector;
  std::vector<KubeToleration> tolerations;
  std::string gpu_resource = "nvidia.com/gpu";
  std::optional<std::int64_t> gpus;  ///< per pod; absent: as many as it has ranks
  std::string cpu, memory;           ///< per pod, as Kubernetes writes them; empty: no limit
  std::string service_account;
  std::vector<std::string> pull_secrets;
  std::string runtime_class;
  Nanos patience = std::chrono::minutes(10);         ///< for pods that do not start
  Nanos refusal_patience = std::chrono::minutes(1);  ///< for whoever is refused to follow a job; no option of users
  Nanos keep = std::chrono::hours(1);                ///< finished jobs, so that whoever was restarted finds them
};

/// From options as users write them: `namespace=bench,image=registry/assay:1,selector=pool=a100+zone=b`. Where one may
/// have several values, there is a '+' between them, since no label, taint or name of an object has one. Errors
/// (`usage`) name the option, the rule and what there is, with what was probably meant.
Result<KubernetesPlace> read_kubernetes_place(const std::map<std::string, std::string>& options);

/// `namespace=NAME`, `image=IMAGE`, … with a sentence each, for help and messages.
struct KubernetesOption {
  std::string_view name, value, help;
};
std::span<const KubernetesOption> kubernetes_options();  ///< Called by tests.

}  // namespace assay
