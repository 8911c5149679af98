#include "launch/kubernetes/kube_config.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json.h"
#include "base/subprocess.h"
#include "base/text.h"
#include "bytes/base64.h"
#include "config/yaml_tree.h"

namespace assay {
namespace {

/// Walks through one file, and keeps the first thing that is wrong.
class KubeConfigReader {
 public:
  KubeConfigReader(const YamlNode& root, const fs::path& file) : root_(root), file_(file) {}

  Result<KubeConfig> read() {
    if (!root_.is_map()) wrong(root_, "this is no kubeconfig: it has no 'clusters', 'users' and 'contexts'");
    KubeConfig config;
    config.current_context = text(root_, "current-context");
    each("clusters", "cluster",
         [&](const std::string& name, const YamlNode& node) { config.clusters.emplace(name, cluster(node)); });
    each("users", "user",
         [&](const std::string& name, const YamlNode& node) { config.users.emplace(name, user(node)); });
    each("contexts", "context", [&](const std::string& name, const YamlNode& node) {
      config.contexts.emplace(name,
                              KubeConfig::Context{text(node, "cluster"), text(node, "user"), text(node, "namespace")});
    });
    if (error_) return std::move(*error_);
    return config;
  }

 private:
  /// The named things of a list: `- {name: a, cluster: {…}}`. As in kubectl, the first of a name counts.
  template <typename Take>
  void each(std::string_view list, std::string_view what, const Take& take) {
    const YamlNode* const found = root_.find(list);
    if (!found || is_nothing(*found)) return;
    if (!found->is_list()) return wrong(*found, fmt::format("'{}' is not a list", list));
    for (const auto& item : found->items) {
      const std::string name = text(item, "name");
      const YamlNode* const node = item.find(what);
      if (!node || (!node->is_map() && !is_nothing(*node))) {
        return wrong(item, fmt::format("an entry of '{}' needs 'name' and '{}'", list, what));
      }
      take(name, *node);
    }
  }

  KubeConfig::Cluster cluster(const YamlNode& node) {
    KubeConfig::Cluster cluster{.server = text(node, "server"),
                                .ca_file = path(node, "certificate-authority"),
                                .ca_text = decoded(node, "certificate-authority-data"),
                                .refused = {}};
    if (text(node, "insecure-skip-tls-verify") == "true") {
      cluster.refused =
          "it says 'insecure-skip-tls-verify: true', and assay talks to no server that it cannot be sure of";
    }
    for (const std::string_view key : {"proxy-url", "tls-server-name"}) {
      if (!text(node, key).empty()) cluster.refused = fmt::format("it needs '{}', which assay cannot do", key);
    }
    return cluster;
  }

  KubeConfig::User user(const YamlNode& node) {
    KubeConfig::User user;
    user.certificate_file = path(node, "client-certificate");
    user.certificate = decoded(node, "client-certificate-data");
    user.key_file = path(node, "client-key");
    user.key = decoded(node, "client-key-data");
    user.token = text(node, "token");
    user.token_file = path(node, "tokenFile");
    if (const YamlNode* const exec = node.find("exec"); exec && exec->is_map()) user.program = program(*exec);
    for (const std::string_view key : {"auth-provider", "username", "as"}) {
      if (node.find(key)) {
        user.refused = fmt::format(
            "it says who one is by '{}', which assay cannot do; it can do certificates, tokens and "
            "'exec' programs",
            key);
      }
    }
    return user;
  }

  KubeCredentialProgram program(const YamlNode& node) {
    KubeCredentialProgram program{.api_version = text(node, "apiVersion"),
                                  .command = text(node, "command"),
                                  .arguments = {},
                                  .environment = {},
                                  .install_hint = text(node, "installHint")};
    if (program.command.empty()) wrong(node, "'exec' needs a 'command'");
    // A name with a folder in it is below that of the file; a plain one is looked for on the PATH.
    if (program.command.find('/') != std::string::npos) program.command = (folder() / program.command).string();
    if (const YamlNode* const arguments = node.find("args")) {
      for (const auto& item : arguments->items) program.arguments.push_back(item.text);
    }
    if (const YamlNode* const variables = node.find("env")) {
      for (const auto& item : variables->items) program.environment[text(item, "name")] = text(item, "value");
    }
    return program;
  }

  std::string text(const YamlNode& node, std::string_view key) {
    const YamlNode* const found = node.find(key);
    if (!found || is_nothing(*found)) return {};
    if (!found->is_scalar()) {
      wrong(*found, fmt::format("'{}' is not a text", key));
      return {};
    }
    return found->text;
  }
  fs::path path(const YamlNode& node, std::string_view key) {
    const std::string found = text(node, key);
    return found.empty() ? fs::path() : folder() / found;
  }
  std::string decoded(const YamlNode& node, std::string_view key) {
    auto bytes = from_base64(text(node, key));
    if (!bytes) wrong(*node.find(key), fmt::format("'{}' is not Base64", key));
    return std::move(bytes).value_or("");
  }

  static bool is_nothing(const YamlNode& node) {
    return node.kind == YamlNode::Kind::empty || (node.is_scalar() && !node.quoted && node.text == "null");
  }
  fs::path folder() const { return fs::absolute(file_).parent_path(); }
  void wrong(const YamlNode& node, std::string message) {
    if (error_) return;
    error_ = Error{.kind = ErrorKind::bad_file,
                   .message = std::move(message),
                   .at = fmt::format("{}:{}:{}", file_.string(), node.place.line, node.place.column)};
  }

  const YamlNode& root_;
  const fs::path& file_;
  std::optional<Error> error_;
};

/// A PEM text, given as such or by its file.
Result<std::string> pem_text(const std::string& text, const fs::path& file) {
  if (!text.empty() || file.empty()) return text;
  return read_file(file, std::size_t{1} << 20);
}

Error no_such(std::string_view what, std::string_view name, const std::vector<std::string>& there,
              const std::string& file) {
  Error error{.kind = ErrorKind::not_found, .message = fmt::format("{} has no {} '{}'", file, what, name)};
  if (const auto meant = nearest(name, there)) {
    error.hint = fmt::format("Did you mean '{}'?", *meant);
  } else {
    error.hint =
        there.empty() ? fmt::format("It has no {} at all.", what) : fmt::format("It has: {}.", join(there, ", "));
  }
  return error;
}

template <typename T>
std::vector<std::string> names_of(const std::map<std::string, T>& things) {
  std::vector<std::string> names;
  names.reserve(things.size());
  for (const auto& [name, thing] : things) names.push_back(name);
  return names;
}

Result<KubeAccess> access_of(const KubeConfig& config, const std::string& file, std::string_view asked) {
  const std::string context_name(asked.empty() ? config.current_context : asked);
  if (context_name.empty()) {
    return Error{
        .kind = ErrorKind::not_found,
        .message = fmt::format("{} has no current context", file),
        .hint = fmt::format("Name one with 'context=…', or choose one with `kubectl config use-context`. There "
                            "are: {}.",
                            join(names_of(config.contexts), ", "))};
  }
  const auto context = config.contexts.find(context_name);
  if (context == config.contexts.end()) return no_such("context", context_name, names_of(config.contexts), file);
  const auto cluster = config.clusters.find(context->second.cluster);
  if (cluster == config.clusters.end()) {
    return no_such("cluster", context->second.cluster, names_of(config.clusters), file);
  }
  const auto user = config.users.find(context->second.user);
  // Without one, one is nobody in particular: the server says what that may do.
  const KubeConfig::User as = user == config.users.end() ? KubeConfig::User{} : user->second;
  if (user == config.users.end() && !context->second.user.empty()) {
    return no_such("user", context->second.user, names_of(config.users), file);
  }
  for (const auto& refused : {cluster->second.refused, as.refused}) {
    if (!refused.empty()) {
      return Error{.kind = ErrorKind::unsupported,
                   .message = fmt::format("context '{}' of {} cannot be used: {}", context_name, file, refused)};
    }
  }
  KubeAccess access{.server = {},
                    .trust = {.fingerprint = {}, .ca_file = {}, .ca_text = cluster->second.ca_text},
                    .user = {.identity = {}, .token = as.token, .token_file = as.token_file, .program = as.program},
                    .origin = fmt::format("context '{}' of {}", context_name, file)};
  // Data wins over a file that is named beside it, as in kubectl.
  if (cluster->second.ca_text.empty()) access.trust.ca_file = cluster->second.ca_file;
  ASSAY_TRY(access.server, parse_url(cluster->second.server).within(access.origin));
  ASSAY_TRY(access.user.identity.certificate, pem_text(as.certificate, as.certificate_file).within(access.origin));
  ASSAY_TRY(access.user.identity.key, pem_text(as.key, as.key_file).within(access.origin));
  if (!context->second.name_space.empty()) access.name_space = context->second.name_space;
  return access;
}

std::string variable(const KubeSearch& where, const std::string& name) {
  const auto found = where.environment.find(name);
  return found == where.environment.end() ? std::string() : found->second;
}

/// The files to read, in their order. Of those that KUBECONFIG names, ones that are not there are passed over.
std::vector<fs::path> config_files(const KubeSearch& where) {
  std::vector<fs::path> files;
  const std::string named = variable(where, "KUBECONFIG");
  for (const auto part : split(named, ':')) {
    if (!part.empty()) files.emplace_back(part);
  }
  const std::string home = variable(where, "HOME");
  if (files.empty() && !home.empty()) files.push_back(fs::path(home) / ".kube" / "config");
  return files;
}

/// What the account of a pod may use; nothing if this is no pod.
Result<std::optional<KubeAccess>> pod_access(const KubeSearch& where) {
  const std::string host = variable(where, "KUBERNETES_SERVICE_HOST");
  const std::string port = variable(where, "KUBERNETES_SERVICE_PORT");
  const fs::path token = where.account_folder / "token";
  if (host.empty() || port.empty() || !fs::exists(token)) return std::optional<KubeAccess>();
  const bool is_v6 = host.find(':') != std::string::npos;
  KubeAccess access{.server = {},
                    .trust = {.fingerprint = {}, .ca_file = where.account_folder / "ca.crt"},
                    .user = {.identity = {}, .token = {}, .token_file = token, .program = {}},
                    .origin = "the account of this pod"};
  ASSAY_TRY(access.server, parse_url(fmt::format("https://{}:{}", is_v6 ? "[" + host + "]" : host, port)));
  if (const auto own = read_file(where.account_folder / "namespace", 256)) access.name_space = trim(*own);
  return std::optional(std::move(access));
}

}  // namespace

Result<KubeConfig> read_kube_config(std::string_view text, const fs::path& file) {
  Problems problems;
  const std::string name = file.string();
  const auto root = read_yaml(text, {.file = name, .what = "kubeconfig"}, problems);
  if (!problems.none()) {
    const auto found = problems.take();
    return Error{.kind = ErrorKind::bad_file,
                 .message = found.front().message,
                 .at = fmt::format("{}:{}:{}", name, found.front().line, found.front().column)};
  }
  return KubeConfigReader(*root, file).read();
}

Result<KubeAccess> find_kube_access(const KubeSearch& where, std::string_view context) {
  const auto files = config_files(where);
  KubeConfig merged;
  std::vector<std::string> read;
  for (const auto& file : files) {
    std::error_code code;
    if (!fs::exists(file, code)) continue;
    ASSAY_TRY(const std::string text, read_file(file, kLargestYamlBytes));
    ASSAY_TRY(KubeConfig config, read_kube_config(text, file));
    merged.clusters.merge(config.clusters);
    merged.users.merge(config.users);
    merged.contexts.merge(config.contexts);
    if (merged.current_context.empty()) merged.current_context = config.current_context;
    read.push_back(file.string());
  }
  if (!read.empty()) return access_of(merged, join(read, ":"), context);
  if (context.empty()) {
    ASSAY_TRY(auto pod, pod_access(where));
    if (pod) return std::move(*pod);
  }
  std::vector<std::string> names;
  names.reserve(files.size());
  for (const auto& file : files) names.push_back(file.string());
  return Error{.kind = ErrorKind::missing_file,
               .message = names.empty() ? std::string("there is no kubeconfig: neither KUBECONFIG nor HOME is set")
                                        : fmt::format("there is no kubeconfig: {} is not there", join(names, ":")),
               .hint = "Set KUBECONFIG to the file that your cluster's administrator gave you."};
}

Result<KubeCredential> read_exec_credential(std::string_view text) {
  ASSAY_TRY(const auto value, parse_json(text));
  const json::value none{json::object()};
  const auto* const object = value.if_object();
  const json::value* const found = object ? object->if_contains("status") : nullptr;
  JsonFields status(found ? *found : none, "status");
  KubeCredential credential{.token = status.text_or("token", ""),
                            .identity = {.certificate = status.text_or("clientCertificateData", ""),
                                         .key = status.text_or("clientKeyData", "")},
                            .expires = {}};
  const std::string expires = status.text_or("expirationTimestamp", "");
  ASSAY_CHECK(status.finish());
  if (!expires.empty()) {
    ASSAY_TRY(credential.expires, parse_iso8601(expires));
  }
  if (credential.token.empty() && credential.identity.certificate.empty()) {
    return Error{.kind = ErrorKind::bad_file, .message = "it has neither a token nor a certificate"};
  }
  return credential;
}

Result<KubeCredential> ask_credential_program(const KubeCredentialProgram& program) {
  const std::string doing = fmt::format("asking '{}' for credentials", program.command);
  std::vector<std::string> arguments{program.command};
  arguments.insert(arguments.end(), program.arguments.begin(), program.arguments.end());
  CommandOptions options{
      .deadline = std::chrono::minutes(1), .folder = {}, .environment = program.environment, .input = {}};
  options.environment["KUBERNETES_EXEC_INFO"] = json::serialize(json::object{
      {"apiVersion", program.api_version}, {"kind", "ExecCredential"}, {"spec", {{"interactive", false}}}});
  auto output = run_command(arguments, options);
  if (!output) {
    if (!program.install_hint.empty()) output.error().hint = printable(program.install_hint);
    return std::move(output).error().within(doing);
  }
  if (output->exit_code != 0) {
    const std::string said(trim(printable(std::string_view(output->error).substr(0, 300))));
    return Error{.kind = ErrorKind::denied,
                 .message = fmt::format("it failed{}{}", said.empty() ? "" : ": ", said),
                 .hint = "Run it by hand, or `kubectl get pods`: it may want you to log in."}
        .within(doing);
  }
  return read_exec_credential(output->out).within(doing);
}

}  // namespace assay
