#include "launch/kubernetes/kube_api.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "base/text.h"
#include "launch/kubernetes/answer_lines.h"
#include "launch/kubernetes/kube_object.h"
#include "net/client_messages.h"
#include "net/client_options.h"
#include "net/headers.h"
#include "net/url_text.h"

namespace assay {
namespace {

/// A watch is ended by the server after this; short, since a connection that died quietly is only noticed then.
constexpr int kWatchSeconds = 50;
/// Without a byte of a watch or a log.
constexpr Nanos kStreamPatience = std::chrono::seconds(60);
/// How often a server that has no time is asked again, and how long it is waited for at most each time.
constexpr int kAttempts = 6;
constexpr Nanos kLongestRetry = std::chrono::seconds(10);
/// A credential is renewed when it is good for no longer than this.
constexpr Nanos kCredentialMargin = std::chrono::seconds(60);
constexpr std::size_t kLongestChange = std::size_t{8} << 20;

struct ResourceRow {
  KubeResource resource;
  std::string_view group;   ///< of RBAC
  std::string_view prefix;  ///< of paths
  std::string_view name;
};
constexpr std::array kResources = {
    ResourceRow{KubeResource::jobs, "batch", "/apis/batch/v1", "jobs"},
    ResourceRow{KubeResource::pods, "", "/api/v1", "pods"},
    ResourceRow{KubeResource::pod_logs, "", "/api/v1", "pods/log"},
    ResourceRow{KubeResource::secrets, "", "/api/v1", "secrets"},
    ResourceRow{KubeResource::services, "", "/api/v1", "services"},
    ResourceRow{KubeResource::events, "", "/api/v1", "events"},
};
const ResourceRow& row_of(KubeResource resource) { return kResources[static_cast<std::size_t>(resource)]; }

constexpr std::array kRights = {
    KubeRight{KubeResource::jobs, KubeVerb::create, "starts a run"},
    KubeRight{KubeResource::jobs, KubeVerb::get, "finds a run again after a restart, and why it failed"},
    KubeRight{KubeResource::jobs, KubeVerb::patch, "asks for no more pods of a run that is to stop"},
    KubeRight{KubeResource::jobs, KubeVerb::remove, "clears away a run that was stopped"},
    KubeRight{KubeResource::pods, KubeVerb::list, "finds the pods of a run"},
    KubeRight{KubeResource::pods, KubeVerb::watch, "notices that a pod waits, runs, fails or vanishes"},
    KubeRight{KubeResource::pods, KubeVerb::remove, "stops a run, with the grace that it was given"},
    KubeRight{KubeResource::pod_logs, KubeVerb::get, "takes what a run says"},
    KubeRight{KubeResource::secrets, KubeVerb::create, "hands a run its order: program, settings, environment"},
    KubeRight{KubeResource::services, KubeVerb::create, "lets the pods of a run on several nodes find each other"},
    KubeRight{KubeResource::events, KubeVerb::list, "says why a pod does not start"},
};

/// What a `Status` says to people.
std::string said_by(const ClientResponse& response) {
  if (const auto status = parse_json(response.body)) {
    if (auto message = kube_text(*status, {"message"}); !message.empty()) return printable(message);
  }
  return std::string(trim(printable(std::string_view(response.body).substr(0, 300))));
}

Nanos asked_pause(const ClientResponse& response, int attempt) {
  Nanos pause = std::chrono::milliseconds(200) * (1 << attempt);
  if (const auto after = response.headers.find("Retry-After")) {
    int seconds = 0;
    const auto [end, problem] = std::from_chars(after->data(), after->data() + after->size(), seconds);
    if (problem == std::errc()) pause = std::chrono::seconds(seconds);
  }
  return std::clamp<Nanos>(pause, Nanos(0), kLongestRetry);
}

std::string target_with(std::string path, const NamedValues& query) {
  char separator = '?';
  for (const auto& [name, value] : query) {
    if (value.empty()) continue;
    path += fmt::format("{}{}={}", std::exchange(separator, '&'), name, percent_encode(value));
  }
  return path;
}

NamedValues selection(KubeResource resource, std::string_view selector) {
  return {{resource == KubeResource::events ? "fieldSelector" : "labelSelector", std::string(selector)}};
}

Error no_change(std::string_view what) {
  return {.kind = ErrorKind::io, .message = fmt::format("the API server's watch sent {}", what)};
}

/// One line of a watch.
Result<KubeChange> read_change(std::string_view line) {
  ASSAY_TRY(const auto value, parse_json(line));
  const auto* const object = kube_value(value, {"object"});
  if (!object || !object->is_object()) return no_change("what is no change");
  constexpr std::array<std::pair<std::string_view, KubeChange::Type>, 4> kTypes = {
      {{"ADDED", KubeChange::Type::added},
       {"MODIFIED", KubeChange::Type::modified},
       {"DELETED", KubeChange::Type::removed},
       {"BOOKMARK", KubeChange::Type::bookmark}}};
  const std::string type = kube_text(value, {"type"});
  for (const auto& [name, known] : kTypes) {
    if (type == name) return KubeChange{known, object->get_object()};
  }
  if (kube_integer(*object, {"code"}) == 410) {
    return Error{.kind = ErrorKind::not_found, .message = "the watched version of the cluster's state is too old"};
  }
  const std::string message = printable(kube_text(*object, {"message"}));
  return no_change(message.empty() ? "an error" : message);
}

/// A 403 has two meanings: somebody has no right, or something in the cluster (a quota, a policy, a webhook) does not
/// take this object from anybody.
void explain_forbidden(const std::string& said, std::string_view doing, KubeVerb verb, KubeResource resource,
                       Error& error) {
  const bool is_right = said.find(fmt::format("cannot {} resource", name_of(verb))) != std::string::npos;
  if (is_right) {
    error.message = fmt::format("this account may not {}: {}", doing, said);
    error.hint = fmt::format("It needs a role with the verb '{}' on '{}' there; docs/guides/kubernetes.md has one.",
                             name_of(verb), name_of(resource));
  } else {
    error.message = fmt::format("the cluster refuses to {}: {}", doing, said);
    error.hint = said.find("exceeded quota") != std::string::npos
                     ? "`kubectl describe quota` tells what is used up; wait, or ask for more."
                     : "A policy of the namespace says so; whoever administers it can tell.";
  }
}

}  // namespace

std::string_view name_of(KubeResource resource) { return row_of(resource).name; }
std::string_view group_of(KubeResource resource) { return row_of(resource).group; }
std::string_view name_of(KubeVerb verb) {
  constexpr std::array<std::string_view, 6> kNames = {"get", "list", "watch", "create", "patch", "delete"};
  return kNames[static_cast<std::size_t>(verb)];
}
std::span<const KubeRight> kube_rights() { return kRights; }

std::optional<Error> kube_failure(const ClientResponse& response, KubeVerb verb, KubeResource resource,
                                  std::string_view name_space) {
  auto error = failure_of(response, "the API server");
  if (!error) return std::nullopt;
  const std::string said = said_by(response);
  const std::string doing = fmt::format("{} {} in the namespace '{}'", name_of(verb), name_of(resource), name_space);
  error->hint.clear();
  switch (response.status) {
    case 401:
      error->message = fmt::format("the API server does not know who asks ({})", said);
      error->hint = "The token or certificate in the kubeconfig is wrong or too old; `kubectl auth whoami` tells.";
      break;
    case 403: explain_forbidden(said, doing, verb, resource, *error); break;
    case 429: error->message = fmt::format("the API server has no time to {}: {}", doing, said); break;
    default:
      error->message =
          fmt::format("the API server answered {} to: {}{}{}", response.status, doing, said.empty() ? "" : ": ", said);
  }
  return error;
}

KubeApi::KubeApi(KubeAccess access, std::string name_space)
    : access_(std::move(access)), name_space_(std::move(name_space)) {}

Result<std::unique_ptr<KubeApi>> KubeApi::connect(const KubeAccess& access, std::string name_space) {
  if (access.server.scheme == Url::Scheme::http && !is_loopback_host(access.server.host)) {
    return Error{.kind = ErrorKind::unsupported,
                 .message = fmt::format("{} reaches the API server by plain http", access.origin),
                 .hint = "Use its https address; plain http is for `kubectl proxy` on this machine."};
  }
  std::unique_ptr<KubeApi> api(new KubeApi(access, std::move(name_space)));
  ASSAY_CHECK(api->renew().within(access.origin));
  return api;
}

Result<void> KubeApi::renew() {
  ClientOptions options;
  options.server = "the API server";
  options.trust = access_.trust;
  options.identity = access_.user.identity;
  if (access_.user.program) {
    ASSAY_TRY(credential_, ask_credential_program(*access_.user.program));
    if (!credential_->identity.certificate.empty()) options.identity = credential_->identity;
  }
  ASSAY_TRY(auto client, HttpClient::create(access_.server, std::move(options)));
  const std::lock_guard lock(mutex_);
  client_ = std::move(client);
  if (cancelled_) client_->cancel();
  return {};
}

void KubeApi::cancel() {
  const std::lock_guard lock(mutex_);
  cancelled_ = true;
  client_->cancel();
  was_cancelled_.notify_all();
}

bool KubeApi::pause(Nanos duration) {
  std::unique_lock lock(mutex_);
  return !was_cancelled_.wait_for(lock, duration, [this] { return cancelled_; });
}

Result<ClientRequest> KubeApi::authorized(ClientRequest request) const {
  std::string token = credential_ ? credential_->token : access_.user.token;
  if (token.empty() && !access_.user.token_file.empty()) {
    ASSAY_TRY(token, read_file(access_.user.token_file, std::size_t{64} << 10).within(access_.origin));
  }
  if (!token.empty()) request.headers.set("Authorization", fmt::format("Bearer {}", trim(token)));
  return request;
}

Result<ClientResponse> KubeApi::exchange(const ClientRequest& request, const ByteSink* sink) {
  ASSAY_TRY(auto asked, authorized(request));
  auto response = sink ? client_->receive(std::move(asked), *sink) : client_->send(std::move(asked));
  // Names of paths mean nothing to users; which server was asked does.
  if (!response) response.error().context = {fmt::format("asking {}", access_.server.place())};
  return response;
}

Result<ClientResponse> KubeApi::send(KubeVerb verb, KubeResource resource, const ClientRequest& request,
                                     const ByteSink* sink) {
  if (credential_ && credential_->expires && *credential_->expires < SystemClock().wall() + kCredentialMargin) {
    ASSAY_CHECK(renew());
  }
  for (int attempt = 0;; ++attempt) {
    ASSAY_TRY(auto response, exchange(request, sink));
    auto error = kube_failure(response, verb, resource, name_space_);
    if (!error) return response;
    const bool last = attempt + 1 == kAttempts;
    if (response.status == 401 && access_.user.program && attempt == 0) {
      ASSAY_CHECK(renew());
      continue;
    }
    // Refused before anything was done, so that it can be asked again, whatever it is.
    if (response.status != 429 || last || !pause(asked_pause(response, attempt))) return std::move(*error);
  }
}

Result<json::object> KubeApi::send_for_object(KubeVerb verb, KubeResource resource, const ClientRequest& request) {
  ASSAY_TRY(const auto response, send(verb, resource, request));
  ASSAY_TRY(auto value, parse_json(response.body).within("reading the API server's answer"));
  if (!value.is_object()) return Error{.kind = ErrorKind::io, .message = "the API server's answer is no object"};
  return std::move(value.get_object());
}

std::string KubeApi::path_of(KubeResource resource, std::string_view name) const {
  const bool is_log = resource == KubeResource::pod_logs;
  std::string path = fmt::format("{}/namespaces/{}/{}", row_of(resource).prefix, percent_encode(name_space_),
                                 is_log ? "pods" : row_of(resource).name);
  if (!name.empty()) path += "/" + percent_encode(name);
  if (is_log) path += "/log";
  return path;
}

Result<json::object> KubeApi::get(KubeResource resource, std::string_view name) {
  return send_for_object(KubeVerb::get, resource, {.target = path_of(resource, name)});
}

Result<json::object> KubeApi::create(KubeResource resource, const json::object& object) {
  return send_for_object(KubeVerb::create, resource,
                         {.method = "POST",
                          .target = path_of(resource, ""),
                          .headers = {{"Content-Type", "application/json"}},
                          .body = json::serialize(object)});
}

Result<json::object> KubeApi::patch(KubeResource resource, std::string_view name, const json::object& changes) {
  return send_for_object(KubeVerb::patch, resource,
                         {.method = "PATCH",
                          .target = path_of(resource, name),
                          .headers = {{"Content-Type", "application/merge-patch+json"}},
                          .body = json::serialize(changes)});
}

Result<void> KubeApi::remove(KubeResource resource, std::string_view name, std::optional<std::int64_t> grace_seconds) {
  json::object options{{"apiVersion", "v1"}, {"kind", "DeleteOptions"}, {"propagationPolicy", "Background"}};
  if (grace_seconds) options["gracePeriodSeconds"] = *grace_seconds;
  const auto response = send(KubeVerb::remove, resource,
                             {.method = "DELETE",
                              .target = path_of(resource, name),
                              .headers = {{"Content-Type", "application/json"}},
                              .body = json::serialize(options)});
  if (!response && response.error().kind != ErrorKind::not_found) return response.error();
  return {};
}

Result<KubeList> KubeApi::list(KubeResource resource, std::string_view selector) {
  ASSAY_TRY(const auto object,
            send_for_object(KubeVerb::list, resource,
                            {.target = target_with(path_of(resource, ""), selection(resource, selector))}));
  KubeList list{.items = {}, .version = kube_text(object, {"metadata", "resourceVersion"})};
  for (const auto& item : kube_array(object, {"items"})) {
    if (item.is_object()) list.items.push_back(item.get_object());
  }
  return list;
}

Result<void> KubeApi::watch(KubeResource resource, std::string_view selector, std::string& version,
                            const std::function<Result<void>(const KubeChange&)>& take) {
  auto query = selection(resource, selector);
  query.insert(query.end(), {{"watch", "true"},
                             {"allowWatchBookmarks", "true"},
                             {"resourceVersion", version},
                             {"timeoutSeconds", std::to_string(kWatchSeconds)}});
  AnswerLines lines(kLongestChange);
  const ByteSink sink = [&](std::string_view piece) {
    return lines.take(piece, [&](std::string_view line) -> Result<void> {
      ASSAY_TRY(const auto change, read_change(line));
      if (auto now = kube_text(change.object, {"metadata", "resourceVersion"}); !now.empty()) version = std::move(now);
      return change.type == KubeChange::Type::bookmark ? Result<void>() : take(change);
    });
  };
  const auto response = send(KubeVerb::watch, resource,
                             {.target = target_with(path_of(resource, ""), query), .time = kStreamPatience}, &sink);
  if (!response) return response.error();
  return {};
}

Result<void> KubeApi::follow_log(std::string_view pod, const ByteSink& take) {
  const auto response =
      send(KubeVerb::get, KubeResource::pod_logs,
           {.target = path_of(KubeResource::pod_logs, pod) + "?follow=true", .time = kStreamPatience}, &take);
  if (!response) return response.error();
  return {};
}

}  // namespace assay
