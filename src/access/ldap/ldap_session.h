#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "access/ldap/ldap_library.h"
#include "access/ldap/ldap_socket.h"
#include "access/ldap_settings.h"
#include "base/clock.h"
#include "base/result.h"

namespace assay {

/// What was found, and of it what was asked for.
struct LdapEntry {
  std::string dn;
  std::map<std::string, std::vector<std::string>> values;  ///< by attribute, named as it was asked for

  /// The values of an attribute; none if it has no such.
  const std::vector<std::string>& of(const std::string& attribute) const;
};

struct LdapSearch {
  std::string base;  ///< and everything below it
  std::string filter;
  std::vector<std::string> attributes;
  int most = 0;  ///< so many entries
};
struct LdapFound {
  std::vector<LdapEntry> entries;
  bool has_more = false;  ///< than were asked for, or than the directory is willing to say
};

/// One connection to a directory, on one thread, until a deadline: then whatever is under way fails, however slowly the
/// directory answers. Every failure is `unreachable`, with what to look at. The library must outlive it. The program
/// ignores SIGPIPE, as assay does: the library writes to connections that may be gone.
class LdapSession {
 public:
  /// Whether the library can use these settings. Asks nobody anything.
  static Result<void> try_out(const ldap::Library& library, const LdapSettings& settings);

  /// Connects, with TLS where it is asked for: the directory has shown a certificate that is good for its host.
  /// The host's name is looked up by the system, which has deadlines of its own.
  static Result<LdapSession> open(const ldap::Library& library, const LdapSettings& settings, SteadyTime deadline);

  /// Says who asks from now on. The directory's refusal is a value: false for whatever has to do with this DN and
  /// password.
  Result<bool> bind(const std::string& dn, std::string_view password);
  Result<LdapFound> search(const LdapSearch& search);

  /// What the directory said of the last refusal; may be empty.
  const std::string& refusal() const { return refusal_; }

 private:
  struct Close {
    const ldap::Library* library;
    void operator()(ldap::Handle* handle) const { library->unbind(handle, nullptr, nullptr); }
  };

  LdapSession(const ldap::Library& library, const LdapSettings& settings);
  Result<void> set_options();
  Result<void> set_trust();
  Result<void> connect(SteadyTime deadline);
  Result<void> secure();
  bool wants_tls() const;
  LdapEntry entry_of(ldap::Message* message, const std::vector<std::string>& attributes) const;
  std::string words_of(int code) const;
  Error failed(std::string_view doing, int code) const;

  const ldap::Library* library_;
  LdapSettings settings_;
  std::unique_ptr<HangUp> hang_up_;  ///< until the last word is said, which is that of closing
  std::unique_ptr<ldap::Handle, Close> handle_;
  std::string refusal_;
};

}  // namespace assay
