#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/files.h"
#include "base/result.h"
#include "net/tls_trust.h"
#include "net/url.h"

namespace assay {

/// A program that is asked for credentials (`client.authentication.k8s.io`): that of a cloud, as a rule.
struct KubeCredentialProgram {
  std::string api_version;
  std::string command;
  std::vector<std::string> arguments;
  std::map<std::string, std::string> environment;
  std::string install_hint;  ///< what the file says to whoever does not have it
};

/// Who one is to an API server: of these, what is there.
struct KubeUser {
  TlsIdentity identity;
  std::string token;
  fs::path token_file;  ///< read anew for each request: accounts of pods have theirs changed every hour
  std::optional<KubeCredentialProgram> program;
};

/// How to reach an API server, and as whom.
struct KubeAccess {
  Url server;
  TlsTrust trust;
  KubeUser user;
  std::string name_space = "default";  ///< where nobody says another
  std::string origin;                  ///< for messages: `context 'lab' of /home/ada/.kube/config`
};

/// One kubeconfig file. Paths in it are absolute: those of the file are below its folder.
struct KubeConfig {
  struct Cluster {
    std::string server;
    fs::path ca_file;
    std::string ca_text;
    std::string refused;  ///< why it cannot be used, where that is so
  };
  struct User {
    fs::path certificate_file, key_file;
    std::string certificate, key;
    std::string token;
    fs::path token_file;
    std::optional<KubeCredentialProgram> program;
    std::string refused;
  };
  struct Context {
    std::string cluster, user, name_space;
  };
  std::map<std::string, Cluster> clusters;
  std::map<std::string, User> users;
  std::map<std::string, Context> contexts;
  std::string current_context;
};

/// Reads what `kubectl` reads: YAML or JSON. Keys that only other programs need are passed over. Errors (`bad_file`)
/// have the line.
Result<KubeConfig> read_kube_config(std::string_view text, const fs::path& file);

/// Where access is looked for. Nothing else of the process is looked at.
struct KubeSearch {
  std::map<std::string, std::string> environment;  ///< KUBECONFIG, HOME, KUBERNETES_SERVICE_HOST and _PORT
  fs::path account_folder = "/var/run/secrets/kubernetes.io/serviceaccount";
};

/// As kubectl does it: the files that KUBECONFIG names (of what several say, the first counts), else ~/.kube/config,
/// else the account of the pod that this process runs in. `context`: empty for the current one.
/// Errors: `missing_file`, `bad_file`, `denied`, `not_found` (no such context, with those that there are),
/// `unsupported` (what the file asks for and this program does not do, such as trusting any certificate).
Result<KubeAccess> find_kube_access(const KubeSearch& where, std::string_view context);

/// What a credential program said, good until it expires.
struct KubeCredential {
  std::string token;
  TlsIdentity identity;
  std::optional<WallTime> expires;
};
/// Runs it; blocks up to its deadline (a minute: some ask a server). Errors: `missing_file`, `timeout`, `denied`.
Result<KubeCredential> ask_credential_program(const KubeCredentialProgram& program);
/// What it printed.
Result<KubeCredential> read_exec_credential(std::string_view text);

}  // namespace assay
