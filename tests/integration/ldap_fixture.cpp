#include "ldap_fixture.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>

#include "access/secrets.h"
#include "base/subprocess.h"
#include "support/free_port.h"

namespace assay {
namespace {

constexpr const char* kSlapd = "/usr/sbin/slapd";
constexpr auto kPause = std::chrono::milliseconds(10);

constexpr std::string_view kEntries = R"(dn: dc=example,dc=org
objectClass: dcObject
objectClass: organization
o: Example
dc: example

dn: cn=reader,dc=example,dc=org
objectClass: organizationalRole
objectClass: simpleSecurityObject
cn: reader
userPassword: reader's

dn: ou=people,dc=example,dc=org
objectClass: organizationalUnit
ou: people

dn: uid=ada,ou=people,dc=example,dc=org
objectClass: inetOrgPerson
uid: ada
cn: Ada
sn: Lovelace
displayName: Ada Lovelace
mail: ada@example.org
userPassword: correct horse

dn: uid=bob,ou=people,dc=example,dc=org
objectClass: inetOrgPerson
uid: bob
cn: Bob
sn: Babbage
userPassword: battery

dn: cn=twin one,ou=people,dc=example,dc=org
objectClass: inetOrgPerson
uid: twin
cn: twin one
sn: Twin
userPassword: same

dn: cn=twin two,ou=people,dc=example,dc=org
objectClass: inetOrgPerson
uid: twin
cn: twin two
sn: Twin
userPassword: same

dn: uid=we(ird*,ou=people,dc=example,dc=org
objectClass: inetOrgPerson
uid: we(ird*
cn: Weird
sn: Weird
userPassword: odd

dn: ou=open,dc=example,dc=org
objectClass: organizationalUnit
ou: open

dn: uid=eve,ou=open,dc=example,dc=org
objectClass: inetOrgPerson
uid: eve
cn: Eve
sn: Eve
userPassword: apple
memberOf: cn=gpu-admins,ou=groups,dc=example,dc=org

dn: ou=groups,dc=example,dc=org
objectClass: organizationalUnit
ou: groups

dn: cn=gpu-admins,ou=groups,dc=example,dc=org
objectClass: groupOfNames
cn: gpu-admins
member: uid=ada,ou=people,dc=example,dc=org
member: uid=eve,ou=open,dc=example,dc=org

dn: cn=gpu-users,ou=groups,dc=example,dc=org
objectClass: posixGroup
cn: gpu-users
gidNumber: 5000
memberUid: ada
memberUid: bob
)";

std::string slapd_conf(const std::string& folder, bool tls) {
  std::string conf;
  for (const char* schema : {"core", "cosine", "inetorgperson", "nis"}) {
    conf += fmt::format("include /etc/ldap/schema/{}.schema\n", schema);
  }
  conf +=
      fmt::format("modulepath /usr/lib/ldap\nmoduleload back_mdb\nmoduleload memberof\npidfile {}/slapd.pid\n", folder);
  if (tls) {
    conf += fmt::format(
        "TLSCACertificateFile {0}/ca.crt\nTLSCertificateFile {0}/tls.pem\nTLSCertificateKeyFile {0}/tls.pem\n", folder);
  }
  return conf + fmt::format(R"(database mdb
suffix dc=example,dc=org
directory {}/data
maxsize 16777216
access to attrs=userPassword by anonymous auth by * none
access to dn.subtree=ou=open,dc=example,dc=org by * read
access to dn.subtree=ou=groups,dc=example,dc=org by users read
access to * by dn.exact=cn=reader,dc=example,dc=org read by anonymous auth by * none
)",
                            folder);
}

FileDescriptor connected_to(int port) {
  FileDescriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  if (::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) return {};
  return socket;
}

bool is_readable(int descriptor) {
  pollfd asked{.fd = descriptor, .events = POLLIN, .revents = 0};
  return ::poll(&asked, 1, static_cast<int>(kPause.count())) > 0;
}

bool say(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const auto sent = ::send(descriptor, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

/// Empty at the end of the connection.
std::string hear(int descriptor) {
  std::array<char, 4096> buffer{};
  const auto got = ::recv(descriptor, buffer.data(), buffer.size(), 0);
  return {buffer.data(), got > 0 ? static_cast<std::size_t>(got) : 0};
}

}  // namespace

std::string authority_of(const fs::path& issued) {
  const std::string all = read_file(issued).value();
  return all.substr(all.rfind("-----BEGIN CERTIFICATE-----"));
}

Result<std::unique_ptr<TestDirectory>> TestDirectory::start(const Options& options) {
  if (!fs::exists(kSlapd)) {
    return Error{.kind = ErrorKind::unsupported, .message = "tests with a directory need slapd (Debian: slapd)"};
  }
  // A port may be taken between looking for it and using it.
  for (int attempt = 1;; ++attempt) {
    std::unique_ptr<TestDirectory> directory(new TestDirectory);
    ASSAY_CHECK(directory->write_files(options));
    ASSAY_CHECK(directory->fill());
    auto launched = directory->launch();
    if (launched) return directory;
    if (attempt == 3) return std::move(launched).error();
  }
}

Result<void> TestDirectory::write_files(const Options& options) {
  const fs::path& folder = folder_.path();
  ASSAY_CHECK(make_folders(folder / "data"));
  authority_.issue(folder / "tls.pem", options.host);
  ::chmod((folder / "tls.pem").c_str(), 0600);
  ASSAY_CHECK(write_file_atomically(ca_file(), authority_of(folder / "tls.pem")));
  ASSAY_CHECK(write_secret_file(password_file(), "reader's"));
  ASSAY_CHECK(write_file_atomically(folder / "slapd.conf", slapd_conf(folder.string(), options.tls)));
  ASSAY_CHECK(write_file_atomically(folder / "entries.ldif", kEntries));
  // Where the system confines slapd to its own folders, it does so by the program's path.
  std::error_code error;
  fs::copy_file(kSlapd, folder / "slapd", error);
  if (error) return Error{.kind = ErrorKind::io, .message = "cannot copy slapd: " + error.message()};
  return {};
}

Result<void> TestDirectory::fill() const {
  const std::string folder = folder_.path().string();
  ASSAY_TRY(const auto added, run_command({folder + "/slapd", "-T", "add", "-q", "-f", folder + "/slapd.conf", "-l",
                                           folder + "/entries.ldif"},
                                          {.deadline = std::chrono::seconds(60)}));
  if (added.exit_code == 0) return {};
  return Error{.kind = ErrorKind::io, .message = "slapadd: " + added.error};
}

Result<void> TestDirectory::launch() {
  ldap_port_ = free_port();
  ldaps_port_ = free_port();
  const std::string folder = folder_.path().string();
  const std::string urls = fmt::format("ldap://127.0.0.1:{} ldaps://127.0.0.1:{}", ldap_port_, ldaps_port_);
  const std::string program = folder + "/slapd";
  const std::string conf = folder + "/slapd.conf";
  const std::string log = folder + "/slapd.log";
  daemon_ = ::fork();
  if (daemon_ < 0) return system_error(errno, "cannot fork");
  if (daemon_ == 0) {
    ::setsid();
    // Also where the test comes to no good end.
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    const int out = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
    ::dup2(out, STDOUT_FILENO);
    ::dup2(out, STDERR_FILENO);
    // -d: stay in the foreground, so that it can be ended by its process id.
    ::execl(program.c_str(), program.c_str(), "-d", "0", "-f", conf.c_str(), "-h", urls.c_str(), nullptr);
    ::_exit(127);
  }
  for (auto waited = kPause; waited < std::chrono::seconds(60); waited += kPause) {
    if (connected_to(ldaps_port_)) return {};
    if (::waitpid(daemon_, nullptr, WNOHANG) != 0) {
      daemon_ = -1;
      break;
    }
    std::this_thread::sleep_for(kPause);
  }
  return Error{.kind = ErrorKind::timeout, .message = "slapd did not start: " + read_file(log).value_or("no log")};
}

void TestDirectory::kill() {
  if (daemon_ < 0) return;
  ::kill(daemon_, SIGKILL);
  ::waitpid(daemon_, nullptr, 0);
  daemon_ = -1;
}

TestDirectory::~TestDirectory() { kill(); }

std::string TestDirectory::ldap_url() const { return fmt::format("ldap://127.0.0.1:{}", ldap_port_); }
std::string TestDirectory::ldaps_url() const { return fmt::format("ldaps://127.0.0.1:{}", ldaps_port_); }

FallingSilent::FallingSilent(Options options) : options_(std::move(options)) {
  listener_ = FileDescriptor(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  ASSAY_ASSERT(::bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), length) == 0);
  ASSAY_ASSERT(::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&address), &length) == 0);
  ASSAY_ASSERT(::listen(listener_.get(), 16) == 0);
  port_ = ntohs(address.sin_port);
  thread_ = std::jthread([this](const std::stop_token& stop) { serve(stop); });
}

/// One client after the other: a test has one at a time.
void FallingSilent::serve(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    if (!is_readable(listener_.get())) continue;
    const FileDescriptor client(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!client) continue;
    if (options_.port == 0) {
      talk(stop, client.get());
    } else {
      relay(stop, client.get());
    }
  }
}

void FallingSilent::talk(const std::stop_token& stop, int client) const {
  // Nobody is answered before having asked.
  while (!stop.stop_requested() && !is_readable(client)) continue;
  for (const char byte : options_.greeting) {
    if (!say(client, {&byte, 1})) return;
  }
  while (!stop.stop_requested()) {
    if (options_.drips && !say(client, std::string_view("\0", 1))) return;
    if (is_readable(client) && hear(client).empty()) return;
  }
}

void FallingSilent::relay(const std::stop_token& stop, int client) const {
  const FileDescriptor server = connected_to(options_.port);
  std::size_t left = options_.limit;
  while (!stop.stop_requested()) {
    if (is_readable(client)) {
      const std::string asked = hear(client);
      if (asked.empty() || !say(server.get(), asked)) return;
    }
    if (left == 0 || !is_readable(server.get())) continue;
    std::string answered = hear(server.get());
    if (answered.empty()) return;
    answered.resize(std::min(left, answered.size()));
    left -= answered.size();
    if (!say(client, answered)) return;
  }
}

}  // namespace assay
