#include "support/slurm_cluster.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <netdb.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

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
GresTypes=gpu
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=bf_interval=2,sched_min_interval=100000,batch_sched_delay=0,sched_interval=1
MpiDefault=none
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
ReturnToService=2
SlurmdTimeout=10
UnkillableStepTimeout=600
KillWait=2
SlurmdParameters=config_overrides
PreemptType=preempt/partition_prio
PreemptMode=CANCEL
StateSaveLocation={folder}/state
SlurmctldLogFile={folder}/slurmctld.log
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdLogFile={folder}/%n.log
SlurmdPidFile={folder}/%n.pid
SlurmdSpoolDir={folder}/%n
)",
                                 fmt::arg("host", host), fmt::arg("port", free_port()), fmt::arg("folder", folder));
  for (int i = 1; i <= nodes; ++i) {
    conf += fmt::format(
        "NodeName=node{} NodeHostname={} NodeAddr=127.0.0.1 Port={} CPUs=32 RealMemory=1000 Gres=gpu:h100:2 "
        "State=UNKNOWN\n",
        i, host, free_port());
  }
  return conf +
         "PartitionName=normal Nodes=ALL Default=YES State=UP\n"
         "PartitionName=whole Nodes=ALL OverSubscribe=EXCLUSIVE State=UP\n"
         "PartitionName=urgent Nodes=ALL PriorityTier=10 State=UP\n";
}

/// GPUs are counted by their files, and shown to jobs only if those are devices.
Result<void> write_gres(const fs::path& folder) {
  ASSAY_CHECK(make_folders(folder / "gpus"));
  std::error_code code;
  for (const auto* const name : {"gpu0", "gpu1"}) fs::create_symlink("/dev/null", folder / "gpus" / name, code);
  if (code) return Error{.kind = ErrorKind::io, .message = code.message()};
  return write_file_atomically(
      folder / "gres.conf", fmt::format("AutoDetect=off\nName=gpu Type=h100 File={}/gpus/gpu[0-1]\n", folder.string()));
}

}  // namespace

Result<void> SlurmCluster::check_possible() {
  if (::geteuid() != 0 || !fs::exists("/usr/sbin/slurmctld") || !fs::exists("/usr/sbin/munged")) {
    return Error{.kind = ErrorKind::unsupported, .message = "Slurm tests need root, slurm-wlm and munge"};
  }
  if (!is_known(short_host_name())) {
    return Error{.kind = ErrorKind::unsupported,
                 .message = "Slurm tests need a machine that finds its own name, as with a line in /etc/hosts"};
  }
  return {};
}

Result<std::unique_ptr<SlurmCluster>> SlurmCluster::start(int nodes) {
  ASSAY_CHECK(check_possible());
  std::unique_ptr<SlurmCluster> cluster(new SlurmCluster);
  cluster->nodes_ = nodes;
  // munged refuses a socket in a folder that others may write to, and clients must be able to enter it.
  ::chmod(cluster->folder_.path().c_str(), 0711);
  ASSAY_CHECK(cluster->start_munge().within("munged"));
  ASSAY_CHECK(cluster->start_daemons(nodes).within("slurm"));
  ASSAY_CHECK(cluster->wait_until_idle());
  if (has_rest()) ASSAY_CHECK(cluster->start_rest().within("slurmrestd"));
  return cluster;
}

std::map<std::string, std::string> SlurmCluster::environment() const {
  return {{"SLURM_CONF", (folder_.path() / "slurm.conf").string()}};
}

std::string SlurmCluster::run(const std::vector<std::string>& command) const {
  const auto output = run_command(command, {.deadline = std::chrono::seconds(30), .environment = environment()});
  if (!output) return output.error().text();
  return std::string(trim(output->exit_code == 0 ? output->out : output->error));
}

void SlurmCluster::cancel_all() const {
  const auto clear = [&] {
    run({"scancel", "--user=root"});
    for (int i = 1; i <= nodes_; ++i) run({"scontrol", "update", fmt::format("NodeName=node{}", i), "State=RESUME"});
    return is_idle();
  };
  EXPECT_TRUE(is_idle() || eventually(clear)) << run({"squeue"}) << run({"sinfo", "-N", "-l"}) << run({"sinfo", "-R"});
}

/// A daemon that stays in the foreground, so that it can be ended by its process id.
Result<pid_t> SlurmCluster::start_daemon(const std::vector<std::string>& command) {
  const auto log = (folder_.path() / "daemons.log").string();
  const pid_t child = ::fork();
  if (child < 0) return system_error(errno, "cannot fork");
  if (child == 0) {
    ::setsid();
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
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
  return child;
}

Result<void> SlurmCluster::start_munge() {
  const auto file = [&](const char* name) { return (folder_.path() / name).string(); };
  ASSAY_CHECK(write_file_atomically(file("munge.key"), std::string(128, 'k')));
  ::chmod(file("munge.key").c_str(), 0600);
  ASSAY_TRY(const pid_t munged,
            start_daemon({"/usr/sbin/munged", "--foreground", "--force", "--key-file=" + file("munge.key"),
                          "--socket=" + file("munge.socket"), "--pid-file=" + file("munge.pid"),
                          "--log-file=" + file("munge.log"), "--seed-file=" + file("munge.seed")}));
  daemons_.emplace_back("munged", munged);
  if (eventually([&] { return fs::exists(file("munge.socket")); })) return {};
  return Error{.kind = ErrorKind::timeout, .message = "its socket did not appear"};
}

Result<void> SlurmCluster::start_daemons(int nodes) {
  ASSAY_CHECK(make_folders(folder_.path() / "state"));
  for (int i = 1; i <= nodes; ++i) ASSAY_CHECK(make_folders(folder_.path() / fmt::format("node{}", i)));
  ASSAY_CHECK(write_file_atomically(folder_.path() / "slurm.conf", slurm_conf(folder_.path().string(), nodes)));
  ASSAY_CHECK(write_gres(folder_.path()));
  ASSAY_TRY(const pid_t controller, start_daemon({"/usr/sbin/slurmctld", "-D", "-c"}));
  daemons_.emplace_back("slurmctld", controller);
  for (int i = 1; i <= nodes; ++i) {
    const auto name = fmt::format("node{}", i);
    ASSAY_TRY(const pid_t node, start_daemon({"/usr/sbin/slurmd", "-D", "-N", name}));
    daemons_.emplace_back(name, node);
  }
  return {};
}

bool SlurmCluster::has_rest() {
  if (!fs::exists("/usr/sbin/slurmrestd")) return false;
  // Newer ones speak other versions alone.
  std::error_code code;
  for (const auto& folder : fs::directory_iterator("/usr/lib", code)) {
    if (fs::exists(folder.path() / "slurm-wlm" / "openapi_v0_0_38.so")) return true;
  }
  return false;
}

std::string SlurmCluster::rest() const { return "unix:" + (folder_.path() / "rest.sock").string(); }

/// As root, which slurmrestd refuses unless it is told not to look.
Result<void> SlurmCluster::start_rest() {
  ASSAY_TRY(const pid_t daemon,
            start_daemon({"/usr/bin/env", "SLURMRESTD_SECURITY=disable_user_check", "/usr/sbin/slurmrestd", "-a",
                          "rest_auth/local", "-s", "openapi/v0.0.38", rest()}));
  daemons_.emplace_back("slurmrestd", daemon);
  if (eventually([&] { return fs::exists(folder_.path() / "rest.sock"); })) return {};
  return Error{.kind = ErrorKind::timeout, .message = "its socket did not appear"};
}

bool SlurmCluster::is_idle() const {
  return run({"sinfo", "-h", "-p", "normal", "-t", "idle", "-o", "%D"}) == std::to_string(nodes_);
}

Result<void> SlurmCluster::wait_until_idle() const {
  if (eventually([&] { return is_idle(); })) return {};
  return Error{
      .kind = ErrorKind::timeout,
      .message = "the nodes did not become idle: " + read_file(folder_.path() / "slurmctld.log").value_or("no log")};
}

void SlurmCluster::end_daemon(const std::string& name, int signal) {
  const auto found = std::find_if(daemons_.begin(), daemons_.end(), [&](const auto& it) { return it.first == name; });
  if (found == daemons_.end()) return;
  ::kill(found->second, signal);
  const bool ended = eventually([&] { return ::waitpid(found->second, nullptr, WNOHANG) != 0; });
  if (!ended) ::kill(found->second, SIGKILL);
  daemons_.erase(found);
}

void SlurmCluster::kill_controller() { end_daemon("slurmctld", SIGKILL); }

void SlurmCluster::restart_controller() {
  const auto controller = start_daemon({"/usr/sbin/slurmctld", "-D"});
  ASSERT_TRUE(controller.ok()) << controller.error().text();
  daemons_.emplace(daemons_.begin() + 1, "slurmctld", *controller);
  EXPECT_TRUE(eventually([&] { return run({"scontrol", "ping"}).find("is UP") != std::string::npos; }));
  // It has forgotten the last seconds, and would give out ids that slurmd remembers.
  for (int i = 0; i < 30; ++i) run({"sbatch", "--hold", "--wrap=true", "--output=/dev/null"});
  run({"scancel", "--user=root"});
  cancel_all();
}

void SlurmCluster::kill_node(const std::string& name) { end_daemon(name, SIGKILL); }

void SlurmCluster::restart_node(const std::string& name) {
  const auto node = start_daemon({"/usr/sbin/slurmd", "-D", "-N", name});
  ASSERT_TRUE(node.ok()) << node.error().text();
  daemons_.emplace_back(name, *node);
  cancel_all();
}

SlurmCluster::~SlurmCluster() {
  // slurmd before slurmctld before munged.
  while (!daemons_.empty()) end_daemon(std::string(daemons_.back().first), SIGTERM);
}

}  // namespace assay
