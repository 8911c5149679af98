#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/files.h"
#include "base/result.h"
#include "net/authority_fixture.h"

namespace assay {

/// A real directory: slapd of OpenLDAP in a temporary folder on two free ports of loopback, for any user. Below
/// dc=example,dc=org it has
///
/// - cn=reader, who may read everything, with the password "reader's";
/// - in ou=people, for the reader's eyes alone: ada (password "correct horse", Ada Lovelace), bob ("battery"), two
///   entries of twin ("same"), and `we(ird*` ("odd");
/// - in ou=open, for everybody's: eve ("apple"), with memberOf;
/// - in ou=groups, for all who are logged in: gpu-admins with ada by DN, gpu-users with ada and bob by name.
class TestDirectory {
 public:
  struct Options {
    /// That its certificate is for. An address: libldap takes "localhost" for the machine's own name.
    std::string host = "127.0.0.1";
    bool tls = true;
  };
  /// Blocks until it answers. Error `unsupported` where slapd is not installed.
  static Result<std::unique_ptr<TestDirectory>> start(const Options& options);
  static Result<std::unique_ptr<TestDirectory>> start() { return start(Options{}); }
  ~TestDirectory();

  std::string ldap_url() const;
  std::string ldaps_url() const;
  int ldap_port() const { return ldap_port_; }
  int ldaps_port() const { return ldaps_port_; }
  /// The authority that its certificate is from.
  fs::path ca_file() const { return folder_.path() / "ca.crt"; }
  /// With the reader's password.
  fs::path password_file() const { return folder_.path() / "reader.password"; }

  /// Ends it, as a failing machine does.
  void kill();

 private:
  TestDirectory() = default;
  Result<void> write_files(const Options& options);
  Result<void> fill() const;
  Result<void> launch();

  TemporaryFolder folder_;
  TestAuthority authority_;
  int ldap_port_ = 0;
  int ldaps_port_ = 0;
  pid_t daemon_ = -1;
};

/// The authority's own certificate: the last in the file of one that it issued.
std::string authority_of(const fs::path& issued);

/// Stands between a client and a server on loopback, hands `limit` bytes of what the server says on to each client, and
/// then says nothing any more, while the connection stays. With port 0 there is no server, and `greeting` is all that a
/// client hears, a byte at a time and then in an endless drip of zeros where `drips`.
class FallingSilent {
 public:
  struct Options {
    int port = 0;
    std::size_t limit = 0;
    std::string greeting = {};
    bool drips = false;
  };
  explicit FallingSilent(Options options);
  int port() const { return port_; }

 private:
  void serve(const std::stop_token& stop);
  void talk(const std::stop_token& stop, int client) const;
  void relay(const std::stop_token& stop, int client) const;

  Options options_;
  int port_ = 0;
  FileDescriptor listener_;
  std::jthread thread_;
};

}  // namespace assay
