#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "access/password_check.h"
#include "access/role.h"
#include "accounts/kept.h"
#include "accounts/password_hasher.h"
#include "accounts/sign_in_rules.h"
#include "base/clock.h"
#include "base/result.h"
#include "store/account_tables.h"

namespace assay {

/// Somebody else's book of passwords, and what its groups mean here.
struct DirectoryUse {
  std::shared_ptr<PasswordDirectory> passwords;  ///< null: none
  /// Nothing: people of these groups have no business here.
  std::function<std::optional<Role>(const std::vector<std::string>& groups)> role_of;
};

struct PeopleOptions {
  HashCost cost;
  SessionRules sessions;
  Nanos once_length = std::chrono::hours(24);
  DirectoryUse directory;
};

/// Who may sign in, and who is. Names are kept in lower case. Any thread. What hashes passwords or asks a directory
/// (`sign_in`, `set_password`, `change_password`) blocks for that long; looking somebody up is a look into memory.
class People {
 public:
  /// Tables and clock must outlive it.
  People(AccountTables& tables, const Clock& clock, PeopleOptions options);
  Result<void> load();

  // --- signing in ---

  struct SignedIn {
    std::string secret;  ///< of the cookie: seen here and never again
    SessionRecord session;
    UserRecord user;
  };
  /// `denied`: wrong, whatever of it, always with the same words and after the same time; `busy`: too many attempts, or
  /// too many at once; `unreachable`: the directory does not answer. Whoever comes from the directory for the first
  /// time gets an account with the role of their groups.
  Result<SignedIn> sign_in(std::string_view user, std::string_view password, std::string_view from);
  /// With what `invite` gave. `denied` as above.
  Result<SignedIn> sign_in_once(std::string_view secret, std::string_view from);
  Result<void> sign_out(std::string_view session);
  struct Visitor {
    SessionRecord session;
    UserRecord user;
    WallTime expires;
  };
  /// Whose cookie this is, and notes that they were seen. Nothing: nobody's who may still be here.
  std::optional<Visitor> visitor(std::string_view secret);
  /// Those of one user, oldest first.
  std::vector<SessionRecord> sessions_of(std::string_view user) const;

  // --- who there is ---

  std::optional<UserRecord> find(std::string_view user) const { return users_.find(user); }
  std::vector<UserRecord> list() const { return users_.all(); }
  /// `usage`: a bad name, a role of agents; `busy`: there is one.
  Result<UserRecord> add(std::string_view user, std::string full_name, Role role);
  struct Change {
    std::optional<std::string> full_name;
    std::optional<Role> role;
    std::optional<bool> disabled;
  };
  /// Ends the user's sessions where they may less than before. `not_found`; `usage`: nobody would be left to
  /// administer.
  Result<UserRecord> change(std::string_view user, const Change& change);
  Result<void> remove(std::string_view user);
  /// Ends all sessions of the user. `usage`: a weak password, or one that the directory keeps.
  Result<void> set_password(std::string_view user, std::string_view password);
  /// By the user, who stays in this one session. `denied`: not the old password, which somebody without one need not
  /// give; `busy`: too many attempts.
  Result<void> change_password(const Visitor& visitor, std::string_view old, std::string_view password);
  /// What lets the user in once, without a password; an earlier one is good no longer, nor is the password.
  Result<std::string> invite(std::string_view user);
  /// The same for the first administrator, who is made: nothing where somebody administers already.
  struct Invitation {
    std::string user;
    std::string secret;
  };
  Result<std::optional<Invitation>> invite_first();

  /// Forgets sessions and invitations that are over, writes down when sessions were last used.
  Result<void> tidy();
  const SessionRules& session_rules() const { return options_.sessions; }

 private:
  Result<UserRecord> check_local(const UserRecord& user, std::string_view password);
  Result<UserRecord> check_directory(const std::string& name, std::string_view password);
  Result<SignedIn> begin_session(const UserRecord& user, std::string_view from);
  Result<void> end_sessions(std::string_view user, std::string_view but = "");
  Result<void> check_somebody_administers(std::string_view without) const;

  const Clock& clock_;
  const PeopleOptions options_;
  PasswordHasher hasher_;
  LoginThrottle throttle_;
  Kept<UserRecord> users_;
  Kept<SessionRecord> sessions_;
  Kept<OnceRecord> once_;
};

/// Whether they may sign in by a password, here or elsewhere.
inline bool has_password(const UserRecord& user) { return user.from_directory || !user.password_hash.empty(); }

}  // namespace assay
