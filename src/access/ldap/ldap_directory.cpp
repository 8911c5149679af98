#include "access/ldap/ldap_directory.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "access/ldap/ldap_filter.h"
#include "access/ldap/ldap_library.h"
#include "access/ldap/ldap_session.h"
#include "access/secrets.h"
#include "base/log.h"
#include "base/text.h"

namespace assay {
namespace {

constexpr std::size_t kLongestUser = 256;
constexpr std::size_t kLongestPassword = 1024;
constexpr int kMostGroups = 10'000;

constexpr const char* kMemberOf = "memberOf";
constexpr const char* kDisplayName = "displayName";
constexpr const char* kCommonName = "cn";

/// The same for everything that is about user and password: who guesses learns nothing from it.
Error refused() {
  return {.kind = ErrorKind::denied, .message = "the directory knows no such user with this password"};
}

bool has_control_character(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](unsigned char c) { return c < ' ' || c == 0x7f; });
}

/// What need not be asked. A password of no bytes (or of one zero, to some) asks for a login without any.
bool can_be_right(std::string_view user, std::string_view password) {
  return !trim(user).empty() && user.size() <= kLongestUser && !has_control_character(user) && !password.empty() &&
         password.size() <= kLongestPassword && password.find('\0') == std::string_view::npos;
}

/// As the directory spells it: who types another spelling is the same person. Of several values that which was typed.
std::string spelled_user(const LdapEntry& entry, const std::vector<std::string>& attributes, std::string_view typed) {
  for (const std::string& attribute : attributes) {
    const auto& values = entry.of(attribute);
    if (values.empty()) continue;
    const auto same = std::find_if(values.begin(), values.end(),
                                   [&](const std::string& value) { return lower_case(value) == lower_case(typed); });
    return same != values.end() ? *same : values.front();
  }
  return std::string(typed);
}

std::string full_name(const LdapEntry& entry) {
  for (const char* attribute : {kDisplayName, kCommonName}) {
    if (const auto& values = entry.of(attribute); !values.empty()) return values.front();
  }
  return {};
}

class LdapDirectory final : public PasswordDirectory {
 public:
  LdapDirectory(ldap::Library library, LdapSettings settings, std::string bind_password)
      : library_(library),
        settings_(std::move(settings)),
        bind_password_(std::move(bind_password)),
        user_attributes_(user_attributes(settings_.user_filter)) {}

  Result<DirectoryEntry> check(std::string_view user, std::string_view password) override {
    if (!can_be_right(user, password)) return refused();
    ASSAY_TRY(LdapSession session, LdapSession::open(library_, settings_, SystemClock().now() + settings_.timeout));
    ASSAY_CHECK(log_in_to_search(session));
    ASSAY_TRY(const LdapEntry found, find_user(session, user));
    ASSAY_TRY(const bool is_right, session.bind(found.dn, password));
    if (!is_right) {
      log_info("directory: '{}' is refused: {}", printable(found.dn), session.refusal());
      return refused();
    }
    DirectoryEntry entry{.user = spelled_user(found, user_attributes_, user), .name = full_name(found), .groups = {}};
    ASSAY_TRY(entry.groups, groups_of(session, found, entry.user));
    return entry;
  }

 private:
  Result<void> log_in_to_search(LdapSession& session) const {
    if (settings_.bind_dn.empty()) return {};
    ASSAY_TRY(const bool let_in, session.bind(settings_.bind_dn, bind_password_));
    if (let_in) return {};
    return Error{.kind = ErrorKind::unreachable,
                 .message = fmt::format("{}: the directory refuses '{}': {}", settings_.url, settings_.bind_dn,
                                        session.refusal()),
                 .hint = "Look at 'ldap.bind_dn' and at the password in 'ldap.bind_password_file'."};
  }

  Result<LdapEntry> find_user(LdapSession& session, std::string_view user) const {
    std::vector<std::string> attributes = user_attributes_;
    for (const char* each : {kDisplayName, kCommonName, kMemberOf}) {
      if (std::find(attributes.begin(), attributes.end(), each) == attributes.end()) attributes.emplace_back(each);
    }
    ASSAY_TRY(LdapFound found, session.search({.base = settings_.user_base,
                                               .filter = fill_filter(settings_.user_filter, {.user = user}),
                                               .attributes = std::move(attributes),
                                               .most = 2}));
    if (found.entries.size() > 1 || found.has_more) {
      log_warning("directory: '{}' is refused: there are several entries for it. Narrow 'ldap.user_filter'.",
                  printable(user));
      return refused();
    }
    // To log in as "" is to log in as nobody, and works with any password.
    if (found.entries.empty() || found.entries.front().dn.empty()) return refused();
    return std::move(found.entries.front());
  }

  /// Who searches for users searches for groups, too; where that is nobody in particular, the user does.
  Result<std::vector<std::string>> groups_of(LdapSession& session, const LdapEntry& entry,
                                             const std::string& user) const {
    if (settings_.group_base.empty()) return entry.of(kMemberOf);
    ASSAY_CHECK(log_in_to_search(session));
    ASSAY_TRY(const LdapFound found,
              session.search({.base = settings_.group_base,
                              .filter = fill_filter(settings_.group_filter, {.user = user, .dn = entry.dn}),
                              .attributes = {"1.1"},  // none: the DN is all that is needed (RFC 4511, 4.5.1.8)
                              .most = kMostGroups}));
    if (found.has_more) {
      log_warning("directory: '{}' is in more groups than the directory says, so a role may be missing",
                  printable(user));
    }
    std::vector<std::string> groups;
    for (const LdapEntry& group : found.entries) groups.push_back(group.dn);
    return groups;
  }

  const ldap::Library library_;
  const LdapSettings settings_;
  const std::string bind_password_;
  const std::vector<std::string> user_attributes_;
};

Result<void> check_settings(const LdapSettings& settings) {
  const auto wrong = [](std::string message) { return Error{.kind = ErrorKind::usage, .message = std::move(message)}; };
  if (settings.url.empty()) return wrong("there is no 'ldap.url'");
  if (const auto mistakes = mistakes_between(settings); !mistakes.empty()) return wrong(mistakes.front().message);
  ASSAY_CHECK(parse_user_filter(settings.user_filter).within("ldap.user_filter"));
  ASSAY_CHECK(parse_group_filter(settings.group_filter).within("ldap.group_filter"));
  return {};
}

}  // namespace

Result<std::unique_ptr<PasswordDirectory>> make_ldap_directory(const LdapSettings& settings) {
  ASSAY_CHECK(check_settings(settings));
  ASSAY_TRY(const ldap::Library library, ldap::load());
  std::string password;
  if (!settings.bind_password_file.empty()) {
    ASSAY_TRY(password, read_secret_file(settings.bind_password_file).within("ldap.bind_password_file"));
  }
  if (!settings.ca_file.empty()) {
    ASSAY_CHECK(open_file(settings.ca_file, O_RDONLY).within("ldap.ca_file"));
  }
  ASSAY_CHECK(LdapSession::try_out(library, settings));
  return std::unique_ptr<PasswordDirectory>(std::make_unique<LdapDirectory>(library, settings, std::move(password)));
}

}  // namespace assay
