#include "accounts/people.h"

#include <fmt/format.h>

#include <algorithm>

#include "access/secrets.h"
#include "access/token_record.h"
#include "base/log.h"
#include "base/text.h"

namespace assay {
namespace {

/// Whatever was wrong: nobody learns here who exists.
Error wrong() {
  return {.kind = ErrorKind::denied,
          .message = "the user's name or the password is wrong",
          .hint = "An administrator can let you in again: `assay user password NAME`."};
}

Error too_often(Nanos wait) {
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(wait).count();
  return {.kind = ErrorKind::busy,
          .message = fmt::format("too many attempts to sign in: the next in {} s", seconds),
          .hint = "Wait; guessing on makes it longer."};
}

Error no_user(std::string_view user) {
  return {.kind = ErrorKind::not_found,
          .message = fmt::format("there is no user '{}'", printable(user)),
          .hint = "`assay user list` shows them."};
}

constexpr std::size_t kMostSessionsOfUser = 50;
/// Of what a directory calls people.
constexpr std::size_t kLongestName = 256;

}  // namespace

People::People(AccountTables& tables, const Clock& clock, PeopleOptions options)
    : clock_(clock),
      options_(std::move(options)),
      hasher_(options_.cost),
      throttle_(clock),
      users_(tables.users(), &UserRecord::name),
      sessions_(tables.sessions(), &SessionRecord::id),
      once_(tables.once(), &OnceRecord::id) {}

Result<void> People::load() {
  ASSAY_CHECK(users_.load());
  ASSAY_CHECK(sessions_.load());
  return once_.load();
}

Result<People::SignedIn> People::sign_in(std::string_view user, std::string_view password, std::string_view from) {
  const std::string name = lower_case(trim(user));
  if (const auto wait = throttle_.begin(name.substr(0, 64), from)) return too_often(*wait);
  // No directory is asked about what cannot be a password: some take an empty one for no question at all.
  if (!is_token_name(name) || password.empty() || password.size() > kLongestPassword) {
    ASSAY_CHECK(hasher_.matches("", password.substr(0, kLongestPassword)));
    return wrong();
  }
  const auto known = users_.find(name);
  const bool elsewhere = options_.directory.passwords && (!known || known->from_directory);
  auto checked = elsewhere ? check_directory(name, password) : check_local(known.value_or(UserRecord{}), password);
  if (!checked) return std::move(checked).error();
  if (checked->disabled) return wrong();
  throttle_.succeeded(name, from);
  return begin_session(*checked, from);
}

Result<UserRecord> People::check_local(const UserRecord& user, std::string_view password) {
  ASSAY_TRY(const bool fits, hasher_.matches(user.password_hash, password));
  if (!fits || user.from_directory) return wrong();
  return user;
}

Result<UserRecord> People::check_directory(const std::string& name, std::string_view password) {
  auto entry = options_.directory.passwords->check(name, password);
  if (!entry) return entry.error().kind == ErrorKind::denied ? wrong() : std::move(entry).error();
  const auto role = options_.directory.role_of ? options_.directory.role_of(entry->groups) : std::nullopt;
  if (!role) {
    log_warning("{} has a good password of the directory, but no group that may sign in here.", name);
    return wrong();
  }
  const auto take_over = [&](UserRecord& user) -> Result<void> {
    // Somebody may have made an account of that name while the directory was asked, or have disabled this one.
    if (!user.from_directory) return wrong();
    user.role = name_of(*role);
    if (entry->name.size() <= kLongestName) user.full_name = entry->name;
    return {};
  };
  auto known = users_.change(name, take_over);
  if (known || known.error().kind != ErrorKind::not_found) return known;
  UserRecord user{.name = name, .from_directory = true, .created = clock_.wall()};
  ASSAY_CHECK(take_over(user));
  ASSAY_CHECK(users_.put(user));
  return user;
}

Result<People::SignedIn> People::sign_in_once(std::string_view secret, std::string_view from) {
  if (const auto wait = throttle_.begin("", from)) return too_often(*wait);
  const Error bad{.kind = ErrorKind::denied,
                  .message = "this link is not good, or no longer",
                  .hint = "It works once. `assay user password NAME` on the leader's machine makes another."};
  if (!is_secret(secret)) return bad;
  ASSAY_TRY(const auto once, once_.take(sha256_hex(secret)));
  if (!once || once->expires <= clock_.wall()) return bad;
  const auto user = users_.find(once->user);
  if (!user || user->disabled) return bad;
  throttle_.succeeded("", from);
  return begin_session(*user, from);
}

Result<People::SignedIn> People::begin_session(const UserRecord& user, std::string_view from) {
  auto mine = sessions_of(user.name);
  if (mine.size() >= kMostSessionsOfUser) {
    ASSAY_CHECK(sessions_.take(mine.front().id));
  }
  const WallTime now = clock_.wall();
  SignedIn made{.secret = new_secret(), .session = {}, .user = {}};
  made.session = {.id = sha256_hex(made.secret),
                  .user = user.name,
                  .csrf = new_secret(),
                  .created = now,
                  .last_seen = now,
                  .from = std::string(from)};
  ASSAY_CHECK(sessions_.put(made.session));
  ASSAY_TRY(made.user, users_.change(user.name, [&](UserRecord& row) -> Result<void> {
    row.last_login = now;
    return {};
  }));
  return made;
}

Result<void> People::sign_out(std::string_view session) {
  ASSAY_CHECK(sessions_.take(session));
  return {};
}

std::optional<People::Visitor> People::visitor(std::string_view secret) {
  if (!is_secret(secret)) return std::nullopt;
  const std::string id = sha256_hex(secret);
  auto session = sessions_.find(id);
  const WallTime now = clock_.wall();
  if (!session || is_over(options_.sessions, *session, now)) return std::nullopt;
  auto user = users_.find(session->user);
  if (!user || user->disabled) return std::nullopt;
  session->last_seen = now;
  sessions_.touch(id, [&](SessionRecord& row) { row.last_seen = now; });
  const WallTime expires = session_end(options_.sessions, *session);
  return Visitor{.session = std::move(*session), .user = std::move(*user), .expires = expires};
}

std::vector<SessionRecord> People::sessions_of(std::string_view user) const {
  auto mine = sessions_.those([&](const SessionRecord& session) { return session.user == user; });
  std::sort(mine.begin(), mine.end(), [](const auto& a, const auto& b) { return a.created < b.created; });
  return mine;
}

Result<UserRecord> People::add(std::string_view user, std::string full_name, Role role) {
  const std::string name = lower_case(user);
  if (!is_token_name(name)) {
    return Error{.kind = ErrorKind::usage,
                 .message = fmt::format("'{}' cannot be the name of a user", printable(user)),
                 .hint = "1 to 64 letters, digits, '-', '_', '.' and '@'."};
  }
  if (role == Role::agent) {
    return Error{.kind = ErrorKind::usage,
                 .message = "people are viewer, user or admin",
                 .hint = "`assay token create --role agent` is for nodes."};
  }
  if (users_.find(name)) {
    return Error{.kind = ErrorKind::busy, .message = fmt::format("there is a user '{}' already", name)};
  }
  UserRecord made{
      .name = name, .full_name = std::move(full_name), .role = std::string(name_of(role)), .created = clock_.wall()};
  ASSAY_CHECK(users_.put(made));
  return made;
}

Result<void> People::check_somebody_administers(std::string_view without) const {
  const auto user = users_.find(without);
  if (!user || user->role != name_of(Role::admin) || user->disabled) return {};
  const auto others = users_.those([&](const UserRecord& other) {
    return other.name != without && other.role == name_of(Role::admin) && !other.disabled;
  });
  if (!others.empty()) return {};
  return Error{.kind = ErrorKind::usage,
               .message = fmt::format("'{}' is the only administrator", without),
               .hint = "Make another one first: `assay user add NAME --role admin`."};
}

Result<UserRecord> People::change(std::string_view user, const Change& change) {
  if (!users_.find(user)) return no_user(user);
  const bool less = (change.role && *change.role != Role::admin) || change.disabled.value_or(false);
  if (less) {
    ASSAY_CHECK(check_somebody_administers(user));
  }
  if (change.role == Role::agent) return Error{.kind = ErrorKind::usage, .message = "people are viewer, user or admin"};
  ASSAY_TRY(auto changed, users_.change(user, [&](UserRecord& row) -> Result<void> {
    if (change.full_name) row.full_name = *change.full_name;
    if (change.role) row.role = name_of(*change.role);
    if (change.disabled) row.disabled = *change.disabled;
    return {};
  }));
  if (less) {
    ASSAY_CHECK(end_sessions(user));
  }
  return changed;
}

Result<void> People::remove(std::string_view user) {
  if (!users_.find(user)) return no_user(user);
  ASSAY_CHECK(check_somebody_administers(user));
  ASSAY_CHECK(users_.take(user));
  ASSAY_CHECK(once_.remove_those([&](const OnceRecord& once) { return once.user == user; }));
  return end_sessions(user);
}

Result<void> People::end_sessions(std::string_view user, std::string_view but) {
  return sessions_.remove_those(
      [&](const SessionRecord& session) { return session.user == user && session.id != but; });
}

Result<void> People::set_password(std::string_view user, std::string_view password) {
  const auto known = users_.find(user);
  if (!known) return no_user(user);
  if (known->from_directory) {
    return Error{.kind = ErrorKind::usage,
                 .message = fmt::format("the password of '{}' is kept by the directory", user),
                 .hint = "It is changed there."};
  }
  ASSAY_CHECK(check_password(user, password));
  ASSAY_TRY(const std::string hash, hasher_.hash(password));
  ASSAY_CHECK(users_.change(user, [&](UserRecord& row) -> Result<void> {
    row.password_hash = hash;
    return {};
  }));
  ASSAY_CHECK(once_.remove_those([&](const OnceRecord& once) { return once.user == user; }));
  return end_sessions(user);
}

Result<void> People::change_password(const Visitor& visitor, std::string_view old, std::string_view password) {
  const std::string& user = visitor.user.name;
  if (!visitor.user.password_hash.empty()) {
    // Whoever has found a session must not be able to guess the password in peace.
    if (const auto wait = throttle_.begin(user, visitor.session.from)) return too_often(*wait);
    ASSAY_TRY(const bool fits, hasher_.matches(visitor.user.password_hash, old));
    if (!fits) return Error{.kind = ErrorKind::denied, .message = "this is not the old password"};
    throttle_.succeeded(user, visitor.session.from);
  }
  const auto kept = sessions_.find(visitor.session.id);
  ASSAY_CHECK(set_password(user, password));
  if (!kept) return {};
  return sessions_.put(*kept);
}

Result<std::string> People::invite(std::string_view user) {
  const auto known = users_.find(user);
  if (!known) return no_user(user);
  if (known->from_directory) {
    return Error{.kind = ErrorKind::usage, .message = fmt::format("'{}' signs in with the directory's password", user)};
  }
  ASSAY_CHECK(once_.remove_those([&](const OnceRecord& once) { return once.user == user; }));
  ASSAY_CHECK(users_.change(user, [](UserRecord& row) -> Result<void> {
    row.password_hash.clear();
    return {};
  }));
  ASSAY_CHECK(end_sessions(user));
  std::string secret = new_secret();
  ASSAY_CHECK(once_.put(
      {.id = sha256_hex(secret), .user = std::string(user), .expires = clock_.wall() + options_.once_length}));
  return secret;
}

Result<std::optional<People::Invitation>> People::invite_first() {
  const auto admins = users_.those([](const UserRecord& user) { return user.role == name_of(Role::admin); });
  std::string name = "admin";
  for (const auto& admin : admins) {
    if (!admin.disabled && has_password(admin)) return std::optional<Invitation>();
    if (!admin.disabled) name = admin.name;
  }
  const auto known = users_.find(name);
  // Whoever has disabled it has done so on purpose.
  if (known && (known->disabled || known->role != name_of(Role::admin))) return std::optional<Invitation>();
  if (!known) {
    ASSAY_CHECK(add(name, "", Role::admin));
  }
  ASSAY_TRY(std::string secret, invite(name));
  return std::optional(Invitation{.user = name, .secret = std::move(secret)});
}

Result<void> People::tidy() {
  const WallTime now = clock_.wall();
  ASSAY_CHECK(once_.remove_those([&](const OnceRecord& once) { return once.expires <= now; }));
  ASSAY_CHECK(
      sessions_.remove_those([&](const SessionRecord& session) { return is_over(options_.sessions, session, now); }));
  // Used within the last minutes: more often is not worth the disk.
  for (const auto& session :
       sessions_.those([&](const SessionRecord& one) { return now - one.last_seen < std::chrono::minutes(11); })) {
    const auto written = sessions_.change(session.id, [](SessionRecord&) -> Result<void> { return {}; });
    if (!written && written.error().kind != ErrorKind::not_found) return written.error();
  }
  return {};
}

}  // namespace assay
