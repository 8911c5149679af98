#include "support/slurm_cluster.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <thread>

#include "base/subprocess.h"
#include "base/text.h"
#include "support/assay_cli.h"
#include "support/free_port.h"

namespace assay {
namespace {

std::string short_host_name() {
  char name[256] = {};
  ::gethostname(name, sizeof name - 1);
  return std::string(split(name, '.').front());
}

bool is_known(const std::string& host) {
  addrinfo* found = nullptr;
  if (::getaddrinfo(host.c_str(), nullptr, nullptr, &found) != 0) return false;
  ::freeaddrinfo(found);
  return true;
}

std::string slurm_conf(const std::string& folder, int nodes) {
  const std::string host = short_host_name();
  std::string conf = fmt::format(R"(ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
SlurmUser=root
SlurmdUser=root
AuthInfo=socket={folder}/munge.socket
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=bf_interval=2,sched_min_interval=100000,batch_sched_delay=0,sched_interval=1
MpiDefault=none
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
ReturnToService=2
SlurmdTimeout=10
KillWait=2
SlurmdParameters=config_overrides
StateSaveLocation={folder}/state
SlurmctldLogFile={folder}/slurmctld.log
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdLogFile={folder}/%n.log
SlurmdPidFile={folder}/%n.pid
SlurmdSpoolDir={folder}/%n
)",
                                 fmt::arg("host", host), fmt::arg("port", free_port()), fmt::arg("folder", folder));
  for (int i = 1; i <= nodes; ++i) {
    conf +=
        fmt::format("NodeName=node{} NodeHostname={} NodeAddr=127.0.0.1 Port={} CPUs=2 RealMemory=1000 State=UNKNOWN\n",
                    i, host, free_port());
  }
  return conf + "PartitionName=main Nodes=ALL Default=YES State=UP\n";
}

}  // namespace

Result<std::unique_ptr<SlurmCluster>> SlurmCluster::start(int nodes) {
  if (::geteuid() != 0 || !fs::exists("/usr/sbin/slurmctld") || !fs::exists("/usr/sbin/munged")) {
    return Error{.kind = ErrorKind::unsupported, .message = "Slurm tests need root, slurm-wlm and munge"};
  }
  if (!is_known(short_host_name())) {
    return Error{.kind = ErrorKind::unsupported,
                 .message = "Slurm tests need a machine that finds its own name, as with a line in /etc/hosts"};
  }
  std::unique_ptr<SlurmCluster> cluster(new SlurmCluster);
  // munged refuses a socket in a folder that others may write to, and clients must be able to enter it.
  ::chmod(cluster->folder_.path().c_str(), 0711);
  ASSAY_CHECK(cluster->start_munge().within("munged"));
  ASSAY_CHECK(cluster->start_daemons(nodes).within("slurm"));
  ASSAY_CHECK(cluster->wait_until_idle(nodes));
  return cluster;
}

std::map<std::string, std::string> SlurmCluster::environment() const {
  return {{"SLURM_CONF", (folder_.path() / "slurm.conf").string()}};
}

/// A daemon that stays in the foreground, so that it can be ended by its process id.
Result<void> SlurmCluster::start_daemon(const std::vector<std::string>& command) {
  const auto log = (folder_.path() / "daemons.log").string();
  const pid_t child = ::fork();
  if (child < 0) return system_error(errno, "cannot fork");
  if (child == 0) {
    ::setsid();
    ::setenv("SLURM_CONF", (folder_.path() / "slurm.conf").c_str(), 1);
    const int out = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
    ::dup2(out, STDOUT_FILENO);
    ::dup2(out, STDERR_FILENO);
    std::vector<char*> arguments;
    for (const auto& argument : command) arguments.push_back(const_cast<char*>(argument.c_str()));
    arguments.push_back(nullptr);
    ::execv(arguments[0], arguments.data());
    ::_exit(127);
  }
  daemons_.push_back(child);
  return {};
}

Result<void> SlurmCluster::start_munge() {
  const auto file = [&](const char* name) { return (folder_.path() / name).string(); };
  ASSAY_CHECK(write_file_atomically(file("munge.key"), std::string(128, 'k')));
  ::chmod(file("munge.key").c_str(), 0600);
  ASSAY_CHECK(start_daemon({"/usr/sbin/munged", "--foreground", "--force", "--key-file=" + file("munge.key"),
                            "--socket=" + file("munge.socket"), "--pid-file=" + file("munge.pid"),
                            "--log-file=" + file("munge.log"), "--seed-file=" + file("munge.seed")}));
  if (eventually([&] { return fs::exists(file("munge.socket")); })) return {};
  return Error{.kind = ErrorKind::timeout, .message = "its socket did not appear"};
}

Result<void> SlurmCluster::start_daemons(int nodes) {
  ASSAY_CHECK(make_folders(folder_.path() / "state"));
  for (int i = 1; i <= nodes; ++i) ASSAY_CHECK(make_folders(folder_.path() / fmt::format("node{}", i)));
  ASSAY_CHECK(write_file_atomically(folder_.path() / "slurm.conf", slurm_conf(folder_.path().string(), nodes)));
  ASSAY_CHECK(start_daemon({"/usr/sbin/slurmctld", "-D", "-c"}));
  for (int i = 1; i <= nodes; ++i)
    ASSAY_CHECK(start_daemon({"/usr/sbin/slurmd", "-D", "-N", fmt::format("node{}", i)}));
  return {};
}

Result<void> SlurmCluster::wait_until_idle(int nodes) const {
  const auto idle = [&] {
    const auto answer = run_command({"sinfo", "-h", "-t", "idle", "-o", "%D"},
                                    {.deadline = std::chrono::seconds(5), .environment = environment()});
    return answer && trim(answer->out) == std::to_string(nodes);
  };
  if (eventually(idle)) return {};
  return Error{
      .kind = ErrorKind::timeout,
      .message = "the nodes did not become idle: " + read_file(folder_.path() / "slurmctld.log").value_or("no log")};
}

SlurmCluster::~SlurmCluster() {
  // slurmd before slurmctld before munged.
  for (auto daemon = daemons_.rbegin(); daemon != daemons_.rend(); ++daemon) {
    ::kill(*daemon, SIGTERM);
    const bool ended = eventually([&] { return ::waitpid(*daemon, nullptr, WNOHANG) != 0; });
    if (!ended) ::kill(*daemon, SIGKILL);
  }
}

}  // namespace assay
