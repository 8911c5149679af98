#include "agent/run_confinement.h"

#include <fmt/format.h>
#include <pwd.h>
#include <unistd.h>

#include <vector>

#include "redact/redact.h"

namespace assay {
namespace {

/// Empty: the system does not know.
std::string own_user_name() {
  std::vector<char> buffer(std::size_t{64} << 10);
  passwd entry{};
  passwd* found = nullptr;
  ::getpwuid_r(::geteuid(), &entry, buffer.data(), buffer.size(), &found);
  return found ? found->pw_name : "";
}

}  // namespace

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

Result<void> check_runs_elsewhere(const std::string& run_as) {
  if (run_as.empty() && ::geteuid() == 0) {
    return Error{.kind = ErrorKind::usage,
                 .message = "an agent of root's would do the leader's runs as root at that place, too",
                 .hint =
                     "Start it as the user that they are to be done as. With --run-as root, whoever may ask the leader "
                     "for runs is root wherever that place reaches."};
  }
  if (run_as.empty()) return {};
  ASSAY_CHECK(environment_of_user(run_as));  // that there is such a user
  if (run_as == own_user_name()) return {};
  return Error{.kind = ErrorKind::usage,
               .message = fmt::format("runs at another place are done as the agent's own user, not as '{}'", run_as),
               .hint = "Start the agent as that user, and leave --run-as out."};
}

}  // namespace assay
