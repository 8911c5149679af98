#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/byte_stream.h"
#include "base/json.h"
#include "launch/kubernetes/kube_config.h"
#include "net/http_client.h"

namespace assay {

struct ClientRequest;
struct ClientResponse;

/// A kind of object that the launcher has to do with. Everything is within a namespace.
enum class KubeResource { jobs, pods, pod_logs, secrets, services, events };
/// What is done to one, in the words of RBAC.
enum class KubeVerb { get, list, watch, create, patch, remove };

/// `jobs`, `pods/log`: as RBAC and messages name it.
std::string_view name_of(KubeResource resource);
/// `batch`; that of pods is empty.
std::string_view group_of(KubeResource resource);
/// `delete` for `remove`.
std::string_view name_of(KubeVerb verb);

/// Everything that this program ever asks of an API server, and what for: packaging/kubernetes grants exactly this, and
/// a test compares them.
struct KubeRight {
  KubeResource resource;
  KubeVerb verb;
  std::string_view what_for;
};
std::span<const KubeRight> kube_rights();  ///< Called by tests.

/// One change that a watch tells of.
struct KubeChange {
  enum class Type { added, modified, removed, bookmark } type = Type::added;
  json::object object;
};

/// Objects of a list, and the version of the cluster's state from which a watch goes on.
struct KubeList {
  std::vector<json::object> items;
  std::string version;
};

/// Talks to one API server about one namespace. Calls block; one caller at a time, except for `cancel`, after which
/// everything is `interrupted`. Every answer that is no success is an error with the server's words: `denied` (401; 403
/// names verb, resource and namespace that are missing), `not_found` (404), `busy` (409, 429 after some patience),
/// `usage` (the server finds what was asked for wrong), `crash` (5xx); those of net/http_client.h besides.
class KubeApi {
 public:
  /// Nothing is sent yet, but a credential program is asked.
  static Result<std::unique_ptr<KubeApi>> connect(const KubeAccess& access, std::string name_space);

  Result<json::object> get(KubeResource resource, std::string_view name);
  Result<json::object> create(KubeResource resource, const json::object& object);
  /// A merge patch.
  Result<json::object> patch(KubeResource resource, std::string_view name, const json::object& changes);
  /// What belongs to it goes with it. `grace_seconds`: of pods, between the signals. That it is gone already is no
  /// error.
  Result<void> remove(KubeResource resource, std::string_view name, std::optional<std::int64_t> grace_seconds = {});
  /// `selector`: of labels or, for events, of fields.
  Result<KubeList> list(KubeResource resource, std::string_view selector);

  /// Tells of changes after `version`, which it moves on, until the server ends it (success: call again) or `take` does
  /// with its error. `not_found` (410 Gone): the version is too old, list again.
  Result<void> watch(KubeResource resource, std::string_view selector, std::string& version,
                     const std::function<Result<void>(const KubeChange&)>& take);

  /// What a pod's first container wrote, from the oldest that its node still has, followed until the container ends,
  /// the connection does, or nothing came for a minute.
  Result<void> follow_log(std::string_view pod, const ByteSink& take);

  const std::string& name_space() const { return name_space_; }
  /// Any thread.
  void cancel();

 private:
  KubeApi(KubeAccess access, std::string name_space);
  /// A new client, with credentials that are good now.
  Result<void> renew();
  Result<ClientRequest> authorized(ClientRequest request) const;
  /// Once, as it is.
  Result<ClientResponse> exchange(const ClientRequest& request, const ByteSink* sink);
  /// Until the server has time for it; a failure is an error. With a sink: the body of a success goes there.
  Result<ClientResponse> send(KubeVerb verb, KubeResource resource, const ClientRequest& request,
                              const ByteSink* sink = nullptr);
  bool pause(Nanos duration);
  Result<json::object> send_for_object(KubeVerb verb, KubeResource resource, const ClientRequest& request);
  std::string path_of(KubeResource resource, std::string_view name) const;

  const KubeAccess access_;
  const std::string name_space_;
  std::optional<KubeCredential> credential_;  ///< of the credential program
  std::mutex mutex_;                          ///< guards the two below, since `cancel` may come at any time
  std::unique_ptr<HttpClient> client_;
  bool cancelled_ = false;
  std::condition_variable was_cancelled_;
};

/// The error that an answer means, in words; nothing for a success.
std::optional<Error> kube_failure(const ClientResponse& response, KubeVerb verb, KubeResource resource,
                                  std::string_view name_space);

}  // namespace assay
