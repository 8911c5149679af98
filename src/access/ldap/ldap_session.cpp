#include "access/ldap/ldap_session.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"

namespace assay {
namespace {

/// Answers to a bind that are about who asks, and not about whether the directory can answer. Accounts that are locked
/// or may not log in are among them.
bool is_about_who_asks(int code) {
  constexpr std::array kCodes = {ldap::kInvalidCredentials, ldap::kInappropriateAuthentication,
                                 ldap::kInsufficientAccess, ldap::kUnwillingToPerform,
                                 ldap::kNoSuchObject,       ldap::kInvalidDnSyntax,
                                 ldap::kConstraintViolation};
  return std::any_of(kCodes.begin(), kCodes.end(), [&](ldap::Code each) { return each == code; });
}

Error unreachable(std::string message, std::string hint = {}) {
  return {.kind = ErrorKind::unreachable, .message = std::move(message), .hint = std::move(hint)};
}

}  // namespace

const std::vector<std::string>& LdapEntry::of(const std::string& attribute) const {
  static const std::vector<std::string> kNone;
  const auto found = values.find(attribute);
  return found == values.end() ? kNone : found->second;
}

LdapSession::LdapSession(const ldap::Library& library, const LdapSettings& settings)
    : library_(&library), settings_(settings), handle_(nullptr, Close{&library}) {}

Result<void> LdapSession::try_out(const ldap::Library& library, const LdapSettings& settings) {
  LdapSession session(library, settings);
  ASSAY_TRY(const LdapUrl url, parse_ldap_url(settings.url));
  ldap::Handle* handle = nullptr;
  if (const int code = library.initialize(&handle, url.text().c_str()); code != ldap::kSuccess) {
    return session.failed("preparing", code);
  }
  session.handle_.reset(handle);
  ASSAY_CHECK(session.set_options());
  return session.set_trust();
}

Result<LdapSession> LdapSession::open(const ldap::Library& library, const LdapSettings& settings, SteadyTime deadline) {
  LdapSession session(library, settings);
  ASSAY_CHECK(session.connect(deadline));
  ASSAY_CHECK(session.set_options());
  ASSAY_CHECK(session.set_trust());
  ASSAY_CHECK(session.secure());
  return session;
}

/// The library reads configuration files and variables of whoever starts the program; what matters is said here.
Result<void> LdapSession::set_options() {
  const auto set = [&](int option, const void* value) {
    return library_->set_option(handle_.get(), option, value) == ldap::kSuccess;
  };
  constexpr int kOn = 1;
  // No deadlines of its own: with one it does not wait for a handshake but spins. See HangUp.
  constexpr timeval kNever{.tv_sec = -1, .tv_usec = 0};
  const bool all = set(ldap::kNetworkTimeout, &kNever) && set(ldap::kTimeoutOption, &kNever) &&
                   set(ldap::kProtocolVersion, &ldap::kVersion3) && set(ldap::kDereference, &ldap::kNeverDereference) &&
                   // Else it would follow referrals to other servers, and show itself there as nobody.
                   set(ldap::kReferrals, nullptr) && set(ldap::kRestart, &kOn) &&
                   set(ldap::kRequireCertificate, &ldap::kDemand) && set(ldap::kLeastTls, &ldap::kTls12) &&
                   set(ldap::kRequireAlternativeName, &ldap::kWherePresent);
  if (all) return {};
  return unreachable("the LDAP library of this machine refuses to be told how to check certificates",
                     "OpenLDAP's of version 2.5 or later, with TLS, is needed.");
}

Result<void> LdapSession::set_trust() {
  const std::string file = settings_.ca_file.string();
  bool all = true;
  if (!file.empty()) {
    // This file alone, and not what the library was set up with beside it.
    all = library_->set_option(handle_.get(), ldap::kCaFolder, nullptr) == ldap::kSuccess &&
          library_->set_option(handle_.get(), ldap::kCaFile, file.c_str()) == ldap::kSuccess;
  }
  constexpr int kOfAClient = 0;
  if (all && library_->set_option(handle_.get(), ldap::kNewTlsContext, &kOfAClient) == ldap::kSuccess) return {};
  return unreachable(file.empty() ? "the LDAP library of this machine cannot be made ready for TLS"
                                  : fmt::format("'{}' cannot be used: no certificate can be read from it", file),
                     file.empty() ? "Look at its own configuration, or set 'ldap.ca_file'."
                                  : "'ldap.ca_file' is a PEM file with certificates of authorities.");
}

Result<void> LdapSession::connect(SteadyTime deadline) {
  ASSAY_TRY(const LdapUrl url, parse_ldap_url(settings_.url));
  ASSAY_TRY(FileDescriptor socket, connect_to(url, deadline));
  hang_up_ = std::make_unique<HangUp>(socket.get(), deadline);
  ldap::Handle* handle = nullptr;
  const int code = library_->initialize_connected(socket.get(), ldap::kTcp, url.text().c_str(), &handle);
  if (code != ldap::kSuccess) return failed("preparing", code);
  socket.release();
  handle_.reset(handle);
  return {};
}

bool LdapSession::wants_tls() const { return settings_.start_tls || settings_.url.starts_with("ldaps:"); }

Result<void> LdapSession::secure() {
  if (!wants_tls()) return {};
  const int code =
      settings_.start_tls ? library_->start_tls(handle_.get(), nullptr, nullptr) : library_->install_tls(handle_.get());
  if (code == ldap::kSuccess) return {};
  return failed("starting TLS", code);
}

Result<bool> LdapSession::bind(const std::string& dn, std::string_view password) {
  // The library may connect anew by itself when a connection is gone, and then without TLS.
  if (wants_tls() && library_->has_tls(handle_.get()) == 0) return failed("logging in", ldap::kServerDown);
  // It is only read.
  const ldap::Bytes bytes{.size = password.size(), .data = const_cast<char*>(password.data())};
  const int code = library_->bind(handle_.get(), dn.c_str(), nullptr, &bytes, nullptr, nullptr, nullptr);
  if (code == ldap::kSuccess) return true;
  if (!is_about_who_asks(code)) return failed("logging in", code);
  refusal_ = words_of(code);
  return false;
}

Result<LdapFound> LdapSession::search(const LdapSearch& search) {
  std::vector<char*> names;
  for (const std::string& attribute : search.attributes) names.push_back(const_cast<char*>(attribute.c_str()));
  names.push_back(nullptr);
  ldap::Message* answer = nullptr;
  const int code = library_->search(handle_.get(), search.base.c_str(), ldap::kWholeSubtree, search.filter.c_str(),
                                    names.data(), 0, nullptr, nullptr, nullptr, search.most, &answer);
  const std::unique_ptr<ldap::Message, int (*)(ldap::Message*)> owned(answer, library_->free_message);
  if (code != ldap::kSuccess && code != ldap::kSizeLimitExceeded) {
    return failed(fmt::format("searching below '{}'", printable(search.base)), code);
  }
  LdapFound found{.entries = {}, .has_more = code == ldap::kSizeLimitExceeded};
  for (auto* entry = answer ? library_->first_entry(handle_.get(), answer) : nullptr; entry != nullptr;
       entry = library_->next_entry(handle_.get(), entry)) {
    found.entries.push_back(entry_of(entry, search.attributes));
  }
  return found;
}

LdapEntry LdapSession::entry_of(ldap::Message* message, const std::vector<std::string>& attributes) const {
  LdapEntry entry;
  if (char* dn = library_->dn(handle_.get(), message)) {
    entry.dn = dn;
    library_->free_memory(dn);
  }
  for (const std::string& attribute : attributes) {
    ldap::Bytes** values = library_->values(handle_.get(), message, attribute.c_str());
    if (values == nullptr) continue;
    for (ldap::Bytes** value = values; *value != nullptr; ++value) {
      entry.values[attribute].emplace_back((*value)->data, (*value)->size);
    }
    library_->free_values(values);
  }
  return entry;
}

std::string LdapSession::words_of(int code) const {
  std::string words = printable(library_->describe(code));
  // What the library says where GnuTLS told it nothing.
  constexpr std::string_view kNoReason = "(unknown error code)";
  char* said = nullptr;
  if (handle_ && library_->get_option(handle_.get(), ldap::kDiagnosticMessage, &said) == ldap::kSuccess &&
      said != nullptr) {
    if (*said != '\0' && said != kNoReason) words += fmt::format(" ({})", printable(said));
    library_->free_memory(said);
  }
  return words;
}

Error LdapSession::failed(std::string_view doing, int code) const {
  if (hang_up_ && hang_up_->happened()) {
    return unreachable(
        fmt::format("{}: no answer within {:.3g} s, {}", settings_.url, seconds_of(settings_.timeout), doing),
        "Is the directory overloaded, or is 'ldap.timeout' too short for it?");
  }
  const bool may_be_trust = code == ldap::kConnectError || code == ldap::kServerDown;
  return unreachable(fmt::format("{}: {}: {}", settings_.url, doing, words_of(code)),
                     may_be_trust && wants_tls()
                         ? "Is it there, is its certificate of an authority in 'ldap.ca_file', and is it "
                           "for the host's name in 'ldap.url'?"
                         : "");
}

}  // namespace assay
