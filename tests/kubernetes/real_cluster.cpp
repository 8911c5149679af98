#include "real_cluster.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>

#include "base/spawn.h"
#include "base/subprocess.h"
#include "launch/kubernetes/kube_object.h"
#include "support/assay_cli.h"
#include "support/free_port.h"
#include "support/source_tree.h"

namespace assay {
namespace {

constexpr std::array kPrograms = {"kube-apiserver", "kube-controller-manager", "kube-scheduler"};
constexpr std::array kNodes = {"gpu01", "gpu02"};
/// Of the administrator and of the kubelets: they are of this cluster alone, which is gone with the test.
constexpr std::string_view kAdminToken = "the-administrator";

bool is_on_path(const std::string& program) { return run_command({program, "--help"}).ok(); }

std::unique_ptr<RealCluster>& cluster_of_program() {
  static std::unique_ptr<RealCluster> cluster;
  return cluster;
}

/// Starts the cluster, or says why there is none, and ends it before the program's other statics go.
class ClusterOfProgram final : public testing::Environment {
 public:
  void SetUp() override {
    const auto programs = RealCluster::programs();
    if (!programs) GTEST_SKIP() << programs.error().text();
    const auto cluster = shared_cluster();
    ASSERT_TRUE(cluster.ok()) << cluster.error().text();
  }
  void TearDown() override { cluster_of_program().reset(); }
};
const auto* const kClusterOfProgram = testing::AddGlobalTestEnvironment(new ClusterOfProgram);

}  // namespace

Result<RealCluster*> shared_cluster() {
  auto& cluster = cluster_of_program();
  if (!cluster) {
    ASSAY_TRY(const auto programs, RealCluster::programs());
    ASSAY_TRY(cluster, RealCluster::start(programs, AssayCli::program()));
  }
  return cluster.get();
}

Result<fs::path> RealCluster::programs() {
  const char* const named = std::getenv("ASSAY_TEST_KUBERNETES");
  const fs::path folder = named ? named : "";
  const bool whole = named && std::all_of(kPrograms.begin(), kPrograms.end(),
                                          [&](const char* program) { return fs::exists(folder / program); });
  if (!whole) {
    return Error{.kind = ErrorKind::unsupported,
                 .message =
                     "ASSAY_TEST_KUBERNETES names no folder with kube-apiserver, kube-controller-manager and "
                     "kube-scheduler"};
  }
  for (const auto* const program : {"etcd", "kubectl"}) {
    if (!is_on_path(program)) {
      return Error{.kind = ErrorKind::unsupported, .message = fmt::format("there is no {} on the PATH", program)};
    }
  }
  return folder;
}

RealCluster::RealCluster(fs::path programs)
    : programs_(std::move(programs)),
      etcd_port_(free_port()),
      port_(free_port()),
      server_({.scheme = Url::Scheme::https,
               .host = "127.0.0.1",
               .port = static_cast<std::uint16_t>(port_),
               .target = "/",
               .socket_path = {}}) {}

Result<std::unique_ptr<RealCluster>> RealCluster::start(const fs::path& programs, const fs::path& program) {
  std::unique_ptr<RealCluster> cluster(new RealCluster(programs));
  const TlsFiles tls = cluster->authority_.issue(cluster->file("server.pem"), "127.0.0.1");
  ASSAY_CHECK(
      write_file_atomically(cluster->file("tokens.csv"), fmt::format("{},root,1,system:masters\n", kAdminToken)));
  cluster->admin_ = std::make_unique<ClusterCalls>(cluster->server_, tls.certificate, std::string(kAdminToken));
  const std::string etcd = fmt::format("http://127.0.0.1:{}", cluster->etcd_port_);
  ASSAY_CHECK(cluster->start_daemon(
      "etcd", {"etcd", "--data-dir=" + cluster->file("etcd-data").string(), "--listen-client-urls=" + etcd,
               "--advertise-client-urls=" + etcd, "--listen-peer-urls=http://127.0.0.1:0", "--unsafe-no-fsync"}));
  cluster->start_api_server();
  if (!cluster->is_ready()) {
    return Error{.kind = ErrorKind::timeout,
                 .message = "the API server does not become ready: " + cluster->log_tail("kube-apiserver")};
  }
  ASSAY_CHECK(cluster->start_controllers());
  cluster->kubelet_ = std::make_unique<StandInKubelet>(StandInKubelet::Options{.server = cluster->server_,
                                                                               .authority = tls.certificate,
                                                                               .token = std::string(kAdminToken),
                                                                               .tls = tls,
                                                                               .program = program,
                                                                               .folder = cluster->file("pods")});
  for (const auto* const node : kNodes) cluster->kubelet_->add_node(node, 8);
  ASSAY_CHECK(cluster->wait_for_nodes());
  return cluster;
}

Result<void> RealCluster::wait_for_nodes() {
  const auto ready = [&] {
    const auto nodes = admin_->get("/api/v1/nodes");
    const auto& items = kube_array(nodes.body, {"items"});
    return items.size() == kNodes.size() && std::all_of(items.begin(), items.end(), [](const json::value& node) {
             return kube_array(node, {"spec", "taints"}).empty();
           });
  };
  if (eventually(ready)) return {};
  return Error{.kind = ErrorKind::timeout,
               .message = "the nodes do not become ready: " + log_tail("kube-controller-manager")};
}

RealCluster::~RealCluster() {
  kubelet_.reset();
  while (!daemons_.empty()) end_daemon(std::string(daemons_.back().first), SIGTERM);
}

Result<void> RealCluster::start_daemon(const std::string& name, std::vector<std::string> command) {
  ASSAY_TRY(const auto log, open_file(file(name + ".log"), O_WRONLY | O_CREAT | O_APPEND));
  ASSAY_TRY(const auto nothing, open_file("/dev/null", O_RDONLY));
  ASSAY_TRY(auto environment, merged_environment({}));
  ASSAY_TRY(const pid_t pid, spawn({.arguments = std::move(command),
                                    .environment = std::move(environment),
                                    .folder = folder_.path(),
                                    .descriptors = {{nothing.get(), 0}, {log.get(), 1}, {log.get(), 2}},
                                    .own_session = true,
                                    .dies_with_parent = true}));
  daemons_.emplace_back(name, pid);
  return {};
}

void RealCluster::end_daemon(const std::string& name, int signal) {
  const auto found = std::find_if(daemons_.begin(), daemons_.end(), [&](const auto& it) { return it.first == name; });
  if (found == daemons_.end()) return;
  ::kill(found->second, signal);
  if (!eventually([&] { return ::waitpid(found->second, nullptr, WNOHANG) != 0; })) {
    ::kill(found->second, SIGKILL);
    ::waitpid(found->second, nullptr, 0);
  }
  daemons_.erase(found);
}

void RealCluster::kill_api_server() { end_daemon("kube-apiserver", SIGKILL); }

void RealCluster::start_api_server() {
  const std::string pem = file("server.pem").string();
  const auto started = start_daemon(
      "kube-apiserver",
      {(programs_ / "kube-apiserver").string(), fmt::format("--etcd-servers=http://127.0.0.1:{}", etcd_port_),
       "--bind-address=127.0.0.1", fmt::format("--secure-port={}", port_), "--tls-cert-file=" + pem,
       "--tls-private-key-file=" + pem, "--client-ca-file=" + pem, "--token-auth-file=" + file("tokens.csv").string(),
       "--authorization-mode=RBAC", "--service-account-issuer=https://kubernetes.default.svc",
       "--service-account-signing-key-file=" + pem, "--service-account-key-file=" + pem,
       "--service-cluster-ip-range=10.0.0.0/24", "--endpoint-reconciler-type=none",
       "--kubelet-preferred-address-types=InternalIP", "--kubelet-certificate-authority=" + pem,
       "--kubelet-client-certificate=" + pem, "--kubelet-client-key=" + pem,
       // A node that is lost is given up after seconds instead of five minutes.
       "--default-not-ready-toleration-seconds=2", "--default-unreachable-toleration-seconds=2"});
  EXPECT_TRUE(started.ok()) << started.error().text();
}

bool RealCluster::is_ready() {
  return eventually([&] { return admin_->get("/readyz").status == 200; });
}

Result<void> RealCluster::start_controllers() {
  const std::string config = kubeconfig("", "").string();
  const std::string pem = file("server.pem").string();
  const std::vector<std::string> shared = {"--kubeconfig=" + config,   "--leader-elect=false",
                                           "--bind-address=127.0.0.1", "--authentication-skip-lookup=true",
                                           "--kube-api-qps=500",       "--kube-api-burst=1000"};
  const auto start = [&](const std::string& name, std::vector<std::string> more) {
    std::vector<std::string> command{(programs_ / name).string(), fmt::format("--secure-port={}", free_port())};
    command.insert(command.end(), shared.begin(), shared.end());
    command.insert(command.end(), more.begin(), more.end());
    return start_daemon(name, std::move(command));
  };
  ASSAY_CHECK(start("kube-controller-manager", {"--service-account-private-key-file=" + pem, "--root-ca-file=" + pem,
                                                "--node-monitor-period=1s", "--node-monitor-grace-period=10s"}));
  return start("kube-scheduler", {});
}

std::string RealCluster::log_tail(const std::string& name) const {
  const std::string text = read_file(file(name + ".log"), std::size_t{64} << 20).value_or("it left no log");
  return text.substr(text.size() - std::min<std::size_t>(text.size(), 2000));
}

fs::path RealCluster::kubeconfig(const std::string& user, const std::string& name_space) {
  std::string who = fmt::format("token: {}", kAdminToken);
  if (!user.empty()) {
    const std::string pem = authority_.issue(file(user + ".pem"), user).certificate.string();
    who = fmt::format("client-certificate: {0}, client-key: {0}", pem);
  }
  const fs::path path = file(fmt::format("kubeconfig-{}-{}", user, name_space));
  const auto written = write_file_atomically(
      path,
      fmt::format("apiVersion: v1\n"
                  "kind: Config\n"
                  "current-context: test\n"
                  "clusters: [{{name: c, cluster: {{server: 'https://{}', certificate-authority: {}}}}}]\n"
                  "users: [{{name: u, user: {{{}}}}}]\n"
                  "contexts: [{{name: test, context: {{cluster: c, user: u, namespace: {}}}}}]\n",
                  server_.place(), file("server.pem").string(), who, name_space.empty() ? "default" : name_space));
  EXPECT_TRUE(written.ok());
  return path;
}

KubeAccess RealCluster::access(const std::string& user, const std::string& name_space) {
  return find_kube_access({.environment = {{"KUBECONFIG", kubeconfig(user, name_space).string()}}}, "").value();
}

std::string RealCluster::kubectl(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "kubectl");
  const auto output = run_command(arguments, {.deadline = std::chrono::minutes(1),
                                              .folder = {},
                                              .environment = {{"KUBECONFIG", kubeconfig("", "").string()}},
                                              .input = {}});
  if (!output) {
    ADD_FAILURE() << output.error().text();
    return {};
  }
  EXPECT_EQ(output->exit_code, 0) << output->out << output->error;
  return output->out;
}

std::string RealCluster::make_namespace() {
  const std::string name = fmt::format("bench-{}", ++namespaces_);
  const std::string role = (test::source_folder() / "packaging/kubernetes/launcher-role.yaml").string();
  kubectl({"create", "namespace", name});
  kubectl({"apply", "-n", name, "-f", role});
  kubectl({"create", "rolebinding", "ada-runs", "-n", name, "--role=assay-launcher", "--user=ada"});
  // Pods are refused before the namespace has its account, and ada before the server has noticed the binding.
  const std::string account = fmt::format("/api/v1/namespaces/{}/serviceaccounts/default", name);
  const json::object review{
      {"apiVersion", "authorization.k8s.io/v1"},
      {"kind", "SubjectAccessReview"},
      {"spec",
       {{"user", "ada"},
        {"resourceAttributes", {{"namespace", name}, {"verb", "create"}, {"group", "batch"}, {"resource", "jobs"}}}}}};
  EXPECT_TRUE(eventually([&] {
    const auto answer = admin_->post("/apis/authorization.k8s.io/v1/subjectaccessreviews", review);
    const auto* const allowed = kube_value(answer.body, {"status", "allowed"});
    return allowed && *allowed == true && admin_->get(account).ok();
  }));
  return name;
}

void RealCluster::clear(const std::string& name_space) {
  admin_->remove(fmt::format("/apis/batch/v1/namespaces/{}/jobs", name_space), {{"propagationPolicy", "Background"}});
  const std::string pods = fmt::format("/api/v1/namespaces/{}/pods", name_space);
  EXPECT_TRUE(eventually([&] {
    // Those that nobody has told to hurry take their whole grace.
    admin_->remove(pods, {{"gracePeriodSeconds", 1}});
    const auto left = admin_->get(pods);
    return left.ok() && kube_array(left.body, {"items"}).empty();
  }));
}

}  // namespace assay
