#pragma once

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <pwd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/files.h"
#include "base/process_tree.h"
#include "base/spawn.h"
#include "base/subprocess.h"

namespace assay {

/// Real sshd processes on loopback, each a "machine" with a cache folder of its own, and an ssh configuration that
/// names them. For the user who runs the tests. Throws where something cannot be set up.
class SshHosts {
 public:
  /// Why there can be none here; empty: there can.
  static std::string missing() {
    for (const char* program : {"ssh", "ssh-keygen", "/usr/sbin/sshd"}) {
      const auto found = run_command({"sh", "-c", fmt::format("command -v {}", program)});
      if (!found || found->exit_code != 0) return fmt::format("{} is not installed", program);
    }
    const passwd* account = ::getpwuid(::geteuid());
    const std::string_view shell = account ? account->pw_shell : "";
    if (!account || shell.ends_with("nologin") || shell.ends_with("false")) return "this account cannot log in";
    return {};
  }

  SshHosts() {
    if (::geteuid() == 0) ::mkdir("/run/sshd", 0755);
    user_ = ::getpwuid(::geteuid())->pw_name;
    make_key("client");
    fs::copy_file(folder_.path() / "client.pub", folder_.path() / "authorized_keys");
    add_line("ssh_config",
             fmt::format("Host *\n  User {}\n  IdentityFile \"{}\"\n  IdentitiesOnly yes\n  IdentityAgent none\n"
                         "  UserKnownHostsFile \"{}\"\n  GlobalKnownHostsFile /dev/null\n  HostName 127.0.0.1\n",
                         user_, path("client"), path("known_hosts")));
    add_line("known_hosts", "");
  }
  SshHosts(const SshHosts&) = delete;
  SshHosts& operator=(const SshHosts&) = delete;
  ~SshHosts() {
    for (const auto& [name, pid] : servers_) end(pid);
  }

  fs::path config() const { return folder_.path() / "ssh_config"; }
  const fs::path& folder() const { return folder_.path(); }
  /// Where that host keeps programs and jobs.
  fs::path cache(const std::string& name) const { return folder_.path() / ("cache " + name) / "assay"; }

  /// A host that works.
  void add(const std::string& name) {
    make_key(name);
    ports_[name] = free_port();
    alias(name, name, ports_[name]);
    add_line("known_hosts", fmt::format("{} {}", name, public_key(name)));
    start(name);
  }
  /// Why no machine with users of its own can be played here; empty: it can.
  static std::string missing_users() {
    if (::geteuid() != 0) return "users of its own take root";
    const auto tried = run_command({"unshare", "-m", "sh", "-c", "mount --bind /etc/passwd /etc/passwd"});
    return tried && tried->exit_code == 0 ? "" : "there are no mount namespaces here";
  }
  /// A machine with further users, each with a home folder there that others may enter: `NAME-USER` logs in as USER.
  void add_shared(const std::string& name, const std::vector<std::string>& users) {
    // Users read what lies below: their keys and their homes.
    ::chmod(folder_.path().c_str(), 0711);
    std::string accounts = read_file("/etc/passwd").value();
    ::uid_t id = 60'100;
    for (const auto& user : users) {
      const auto home = home_of(user);
      accounts += fmt::format("{}:*:{}:{}::{}:/bin/sh\n", user, id, id, home.string());
      fs::create_directories(home);
      if (::chown(home.c_str(), id, id) != 0) throw std::runtime_error("no home folder");
      ++id;
    }
    (void)write_file_atomically(folder_.path() / ("passwd_" + name), accounts).ok();
    ::chmod(path("passwd_" + name).c_str(), 0644);
    shared_.insert(name);
    add(name);
    for (const auto& user : users) alias(name + "-" + user, name, ports_.at(name), "  User " + user + "\n");
  }
  fs::path home_of(const std::string& user) const { return folder_.path() / ("home-" + user); }
  /// Another name for a host that works: as if two machines shared their home folders.
  void add_twin(const std::string& name, const std::string& host) { alias(name, host, ports_.at(host)); }
  /// A name of its own for a host, under which its key is not known, or another one is.
  void add_stranger(const std::string& name, const std::string& host) { alias(name, name, ports_.at(host)); }
  void add_impostor(const std::string& name, const std::string& host) {
    alias(name, name, ports_.at(host));
    make_key("other-" + name);
    add_line("known_hosts", fmt::format("{} {}", name, public_key("other-" + name)));
  }
  /// Somebody who has no account there.
  void add_guest(const std::string& name, const std::string& host) {
    add_line("guests", "");
    alias(host + "-" + name, host, ports_.at(host), "  User " + name + "\n");
  }
  /// A name of its own for a host, which is reached through another one.
  void add_behind(const std::string& name, const std::string& host, const std::string& jump) {
    alias(name, host, ports_.at(host), "  ProxyJump " + jump + "\n");
  }
  /// A host that takes the connection and then says nothing.
  void add_hung(const std::string& name) {
    hung_ = FileDescriptor(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address = loopback(0);
    if (::bind(hung_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
        ::listen(hung_.get(), 64) != 0) {
      throw std::runtime_error("no listener");
    }
    alias(name, name, port_of(hung_.get()));
  }
  /// It ends the connections that it has taken, and takes no more.
  void end_hung() { hung_ = FileDescriptor(); }

  /// Its sshd goes away, and with it every connection; the machine goes on.
  void cut(const std::string& name) {
    for (const pid_t session : sessions(servers_.at(name))) ::kill(session, SIGKILL);
    end(servers_.at(name));
    servers_.erase(name);
  }
  /// It answers again.
  void restore(const std::string& name) { start(name); }

 private:
  std::string path(const std::string& name) const { return (folder_.path() / name).string(); }

  static sockaddr_in loopback(int port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
  }
  static int port_of(int socket) {
    sockaddr_in address{};
    socklen_t size = sizeof address;
    ::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size);
    return ntohs(address.sin_port);
  }
  static int free_port() {
    const FileDescriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address = loopback(0);
    if (::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
      throw std::runtime_error("no port");
    return port_of(socket.get());
  }
  static bool answers(int port) {
    const FileDescriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const sockaddr_in address = loopback(port);
    return ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  }

  void make_key(const std::string& name) {
    const auto made = run_command({"ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", path(name)});
    if (!made || made->exit_code != 0) throw std::runtime_error("ssh-keygen failed");
  }
  std::string public_key(const std::string& name) const {
    const auto text = read_file(folder_.path() / (name + ".pub")).value();
    return text.substr(0, text.rfind(' '));
  }
  void add_line(const std::string& file, const std::string& line) {
    const auto before = read_file(folder_.path() / file).value_or("");
    (void)write_file_atomically(folder_.path() / file, before + line + "\n").ok();
  }
  /// In front, since the first value that ssh finds is the one it takes.
  void alias(const std::string& name, const std::string& key_alias, int port, const std::string& more = {}) {
    const auto before = read_file(config()).value();
    (void)write_file_atomically(
        config(), fmt::format("Host {}\n  Port {}\n  HostKeyAlias {}\n{}{}", name, port, key_alias, more, before))
        .ok();
  }

  void start(const std::string& name) {
    const auto config = folder_.path() / ("sshd_" + name);
    fs::create_directories(cache(name).parent_path());
    (void)write_file_atomically(
        config,
        fmt::format("Port {}\nListenAddress 127.0.0.1\nHostKey \"{}\"\nPidFile none\nAuthorizedKeysFile \"{}\"\n"
                    "StrictModes no\nUsePAM no\nPasswordAuthentication no\nKbdInteractiveAuthentication no\n"
                    "PermitRootLogin prohibit-password\nMaxStartups 100\n{}",
                    ports_.at(name), path(name), path("authorized_keys"),
                    shared_.contains(name)
                        ? ""
                        : fmt::format("SetEnv \"XDG_CACHE_HOME={}\"\n", cache(name).parent_path().string())))
        .ok();
    std::vector<std::string> command = {"/usr/sbin/sshd", "-D", "-e", "-f", config.string()};
    if (shared_.contains(name)) {
      // It sees the accounts of that machine, and nobody else does.
      const std::string script = "mount --make-rprivate / && mount --bind \"$0\" /etc/passwd && exec \"$@\"";
      command.insert(command.begin(), {"unshare", "-m", "sh", "-c", script, path("passwd_" + name)});
    }
    const auto nothing = open_file("/dev/null", O_RDWR).value();
    const auto log = open_file(folder_.path() / "sshd.log", O_WRONLY | O_CREAT | O_APPEND).value();
    servers_[name] = spawn({.arguments = std::move(command),
                            .environment = merged_environment({}).value(),
                            .descriptors = {{nothing.get(), 0}, {nothing.get(), 1}, {log.get(), 2}},
                            .own_session = true})
                         .value();
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(90);
    while (!answers(ports_.at(name))) {
      if (std::chrono::steady_clock::now() > limit) throw std::runtime_error("sshd does not answer");
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }
  static void end(pid_t pid) {
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
  }
  /// The processes of sshd that serve one connection each; what they started has a session of its own.
  static std::vector<pid_t> sessions(pid_t server) {
    std::vector<pid_t> found;
    for (const auto& process : descendants_of(server)) {
      if (process.name.starts_with("sshd")) found.push_back(process.pid);
    }
    return found;
  }

  TemporaryFolder folder_;
  std::string user_;
  std::map<std::string, int> ports_;
  std::map<std::string, pid_t> servers_;
  std::set<std::string> shared_;  ///< hosts with accounts of their own
  FileDescriptor hung_;
};

}  // namespace assay
