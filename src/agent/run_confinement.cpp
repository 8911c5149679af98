#include "agent/run_confinement.h"

#include <unistd.h>

#include "redact/redact.h"

namespace assay {

Result<Confinement> confinement_of_runs(const OwnThings& own) {
  if (own.run_as.empty() && ::geteuid() == 0) {
    return Error{.kind = ErrorKind::usage,
                 .message = "an agent of root's would do the leader's runs as root, too",
                 .hint =
                     "Name a user without rights of its own: --run-as USER. With --run-as root, whoever may ask the "
                     "leader for runs is root on this node."};
  }
  Confinement confinement{
      .hidden = {own.state}, .user = own.run_as, .environment = workload_environment(own.environment)};
  if (own.limits_runs) confinement.hidden.emplace_back("/sys/fs/cgroup");
  if (!own.token_file.empty()) confinement.hidden.push_back(own.token_file);
  if (const auto credentials = own.environment.find("CREDENTIALS_DIRECTORY"); credentials != own.environment.end()) {
    confinement.hidden.emplace_back(credentials->second);
  }
  if (!own.run_as.empty()) {
    ASSAY_TRY(const auto of_user, environment_of_user(own.run_as));
    for (const auto& [name, value] : of_user) confinement.environment[name] = value;
  }
  ASSAY_CHECK(check_confinement(confinement));
  return confinement;
}

}  // namespace assay
