#include "access/ldap/ldap_library.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <string>

namespace assay::ldap {
namespace {

/// Debian 13, Ubuntu 24.04 and most others; Debian 12.
constexpr std::array kFiles = {"libldap.so.2", "libldap-2.5.so.0"};

class LdapSymbols {
 public:
  explicit LdapSymbols(void* library) : library_(library) {}

  template <typename Function>
  void find(Function& function, const char* name) {
    void* symbol = ::dlsym(library_, name);
    if (symbol == nullptr && missing_.empty()) missing_ = name;
    function = reinterpret_cast<Function>(symbol);
  }
  const std::string& missing() const { return missing_; }

 private:
  void* library_;
  std::string missing_;
};

void* open_any() {
  for (const char* file : kFiles) {
    // Never unloaded: it, and the TLS library below it, leave functions to be called when threads and the program end.
    if (void* library = ::dlopen(file, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE)) return library;
  }
  return nullptr;
}

}  // namespace

Result<Library> load() {
  void* opened = open_any();
  if (opened == nullptr) {
    return Error{.kind = ErrorKind::unsupported,
                 .message = "there is no LDAP library on this machine",
                 .hint = "Install OpenLDAP's: on Debian 12 libldap-2.5-0, on Debian 13 and Ubuntu libldap2."};
  }
  LdapSymbols symbols(opened);
  Library library;
  symbols.find(library.initialize, "ldap_initialize");
  symbols.find(library.initialize_connected, "ldap_init_fd");
  symbols.find(library.install_tls, "ldap_install_tls");
  symbols.find(library.has_tls, "ldap_tls_inplace");
  symbols.find(library.start_tls, "ldap_start_tls_s");
  symbols.find(library.unbind, "ldap_unbind_ext");
  symbols.find(library.set_option, "ldap_set_option");
  symbols.find(library.get_option, "ldap_get_option");
  symbols.find(library.bind, "ldap_sasl_bind_s");
  symbols.find(library.search, "ldap_search_ext_s");
  symbols.find(library.first_entry, "ldap_first_entry");
  symbols.find(library.next_entry, "ldap_next_entry");
  symbols.find(library.dn, "ldap_get_dn");
  symbols.find(library.values, "ldap_get_values_len");
  symbols.find(library.free_values, "ldap_value_free_len");
  symbols.find(library.free_message, "ldap_msgfree");
  symbols.find(library.free_memory, "ldap_memfree");
  symbols.find(library.describe, "ldap_err2string");
  if (symbols.missing().empty()) return library;
  return Error{.kind = ErrorKind::unsupported,
               .message = fmt::format("the LDAP library of this machine has no {}", symbols.missing()),
               .hint = "OpenLDAP's of version 2.5 or later is needed."};
}

}  // namespace assay::ldap
