#include "access/ldap/ldap_session.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"

namespace assay {
namespace {

timeval time_value(Nanos duration) {
  const auto micros = std::chrono::duration_cast<std::chrono::microseconds>(duration).count();
  return {.tv_sec = micros / 1'000'000, .tv_usec = micros % 1'000'000};
}

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

LdapSession::LdapSession(const ldap::Library& library, const LdapSettings& settings, SteadyTime deadline)
    : library_(&library), settings_(settings), deadline_(deadline), handle_(nullptr, Close{&library}) {}

Result<LdapSession> LdapSession::prepare(const ldap::Library& library, const LdapSettings& settings,
                                         SteadyTime deadline) {
  LdapSession session(library, settings, deadline);
  ASSAY_TRY(const LdapUrl url, parse_ldap_url(settings.url));
  ldap::Handle* handle = nullptr;
  if (const int code = library.initialize(&handle, url.text().c_str()); code != ldap::kSuccess) {
    return session.failed("preparing", code);
  }
  session.handle_.reset(handle);
  ASSAY_CHECK(session.set_options());
  ASSAY_CHECK(session.set_trust());
  return session;
}

/// The library reads configuration files and variables of whoever starts the program; what matters is said here.
Result<void> LdapSession::set_options() {
  const auto set = [&](int option, const void* value) {
    return library_->set_option(handle_.get(), option, value) == ldap::kSuccess;
  };
  constexpr int kOn = 1;
  const bool all = set(ldap::kProtocolVersion, &ldap::kVersion3) && set(ldap::kDereference, &ldap::kNeverDereference) &&
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

Result<void> LdapSession::allow_what_is_left() {
  const Nanos left = deadline_ - SystemClock().now();
  if (left <= Nanos(0)) return failed("waiting", ldap::kTimeout);
  // Zero would mean for ever.
  const timeval time = time_value(std::max<Nanos>(left, std::chrono::milliseconds(1)));
  library_->set_option(handle_.get(), ldap::kNetworkTimeout, &time);
  library_->set_option(handle_.get(), ldap::kTimeoutOption, &time);
  return {};
}

/// The library waits for an answer to begin until its time is over, but then reads it to its end, however long that
/// takes. What does not block there makes it wait where it looks at the time.
Result<void> LdapSession::never_wait_in_reads() {
  int descriptor = -1;
  library_->get_option(handle_.get(), ldap::kDescriptor, &descriptor);
  const int flags = ::fcntl(descriptor, F_GETFL);
  if (flags >= 0 && ::fcntl(descriptor, F_SETFL, flags | O_NONBLOCK) == 0) return {};
  return unreachable(fmt::format("{}: the connection is gone", settings_.url));
}

Result<void> LdapSession::connect() {
  ASSAY_CHECK(allow_what_is_left());
  if (const int code = library_->connect(handle_.get()); code != ldap::kSuccess) return failed("connecting", code);
  ASSAY_CHECK(never_wait_in_reads());
  if (!settings_.start_tls) return {};
  ASSAY_CHECK(allow_what_is_left());
  if (const int code = library_->start_tls(handle_.get(), nullptr, nullptr); code != ldap::kSuccess) {
    return failed("starting TLS", code);
  }
  // The library makes the connection wait again after a handshake.
  return never_wait_in_reads();
}

Result<bool> LdapSession::bind(const std::string& dn, std::string_view password) {
  ASSAY_CHECK(allow_what_is_left());
  // It is only read.
  const ldap::Bytes bytes{.size = password.size(), .data = const_cast<char*>(password.data())};
  const int code = library_->bind(handle_.get(), dn.c_str(), nullptr, &bytes, nullptr, nullptr, nullptr);
  if (code == ldap::kSuccess) return true;
  if (!is_about_who_asks(code)) return failed("logging in", code);
  refusal_ = words_of(code);
  return false;
}

Result<LdapFound> LdapSession::search(const LdapSearch& search) {
  ASSAY_CHECK(allow_what_is_left());
  std::vector<char*> names;
  for (const std::string& attribute : search.attributes) names.push_back(const_cast<char*>(attribute.c_str()));
  names.push_back(nullptr);
  timeval left = time_value(std::max<Nanos>(deadline_ - SystemClock().now(), std::chrono::milliseconds(1)));
  ldap::Message* answer = nullptr;
  const int code = library_->search(handle_.get(), search.base.c_str(), ldap::kWholeSubtree, search.filter.c_str(),
                                    names.data(), 0, nullptr, nullptr, &left, search.most, &answer);
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
  char* said = nullptr;
  if (handle_ && library_->get_option(handle_.get(), ldap::kDiagnosticMessage, &said) == ldap::kSuccess &&
      said != nullptr) {
    if (*said != '\0') words += fmt::format(" ({})", printable(said));
    library_->free_memory(said);
  }
  return words;
}

Error LdapSession::failed(std::string_view doing, int code) const {
  if (code == ldap::kTimeout) {
    return unreachable(
        fmt::format("{}: no answer within {:.3g} s, {}", settings_.url, seconds_of(settings_.timeout), doing),
        "Is the directory overloaded, or is 'ldap.timeout' too short for it?");
  }
  const bool may_be_trust = code == ldap::kConnectError || code == ldap::kServerDown;
  const bool tls = settings_.start_tls || settings_.url.starts_with("ldaps:");
  return unreachable(fmt::format("{}: {}: {}", settings_.url, doing, words_of(code)),
                     may_be_trust && tls
                         ? "Is it there, is its certificate of an authority in 'ldap.ca_file', and is it "
                           "for the host's name in 'ldap.url'?"
                         : "");
}

}  // namespace assay
