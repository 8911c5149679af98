#include <fmt/format.h>

#include "accounts/accounts.h"
#include "api/account_types.h"
#include "base/shortened.h"
#include "base/text.h"
#include "base/units.h"
#include "http/api_check.h"
#include "http/api_routes.h"
#include "leader/leader.h"
#include "model/run.h"
#include "model/study.h"
#include "store/run_store.h"

namespace assay {
namespace {

using In = ApiParameter::In;

const ApiParameter kUser{.name = "user", .in = In::path, .description = "What they sign in with"};
constexpr std::size_t kLongestNote = 256;

UserView view_of(const UserRecord& user) {
  return {.name = user.name,
          .full_name = user.full_name,
          .role = user.role,
          .disabled = user.disabled,
          .directory = user.from_directory,
          .has_password = has_password(user),
          .created = user.created,
          .last_login = user.last_login};
}

PersonalToken view_of(const PersonalTokenRecord& token) {
  return {.id = token.id,
          .user = token.user,
          .name = token.name,
          .scopes = token.scopes,
          .created = token.created,
          .expires = token.expires};
}

ShareLink view_of(const LinkRecord& link) {
  return {.id = link.id,
          .user = link.user,
          .shows = {.kind = link.kind, .runs = link.runs, .study = link.study},
          .note = link.note,
          .created = link.created,
          .expires = link.expires};
}

Result<Role> role_of_text(std::string_view text) {
  const auto role = role_from(text);
  if (role && *role != Role::agent) return *role;
  return Error{.kind = ErrorKind::usage,
               .message = fmt::format("'{}' is no role of people", printable(text)),
               .hint = "viewer, user or admin."};
}

Result<std::optional<Nanos>> lifetime_in(const std::string& text) {
  if (text.empty()) return std::optional<Nanos>();
  const auto length = parse_duration(text);
  if (!length) return Error{.kind = ErrorKind::usage, .message = "'for' " + length.error().message};
  return std::optional(*length);
}

/// Tokens and links belong to an account.
Result<void> check_has_account(const Principal& caller) {
  if (!caller.account.empty()) return {};
  return Error{.kind = ErrorKind::denied,
               .message = fmt::format("{} has no account, and this is about one's own", caller.title),
               .hint = "Sign in: `assay login URL`."};
}

/// Who found a token must not be able to make another that outlives it.
Result<void> check_signed_in(const Principal& caller) {
  ASSAY_CHECK(check_has_account(caller));
  if (!caller.session.empty()) return {};
  return Error{.kind = ErrorKind::denied,
               .message = "tokens are made by who is signed in, not with a token",
               .hint = "Sign in with your password: `assay login URL`."};
}

bool wants_all(const HttpRequest& request, const Principal& caller) {
  return request.query_value("all") == "true" && caller.scopes.has(Scope::admin);
}

Result<Invitation> add_user(People& people, const NewUser& wanted) {
  ASSAY_TRY(const Role role, role_of_text(wanted.role));
  // Nobody is half made because of a weak password.
  if (!wanted.password.empty()) {
    ASSAY_CHECK(check_password(wanted.name, wanted.password));
  }
  ASSAY_TRY(auto user, people.add(wanted.name, shortened(wanted.full_name, kLongestNote), role));
  Invitation made;
  if (wanted.password.empty()) {
    ASSAY_TRY(made.once, people.invite(user.name));
  } else {
    ASSAY_CHECK(people.set_password(user.name, wanted.password));
  }
  made.user = view_of(people.find(user.name).value_or(user));
  return made;
}

Result<UserView> change_user(People& people, std::string_view name, const UserChange& wanted) {
  People::Change change{.full_name = wanted.full_name, .role = {}, .disabled = wanted.disabled};
  if (change.full_name) change.full_name = shortened(*change.full_name, kLongestNote);
  if (wanted.role) {
    ASSAY_TRY(change.role, role_of_text(*wanted.role));
  }
  ASSAY_TRY(const auto user, people.change(name, change));
  return view_of(user);
}

Result<Invitation> reset_password(People& people, std::string_view name, const PasswordReset& wanted) {
  Invitation made;
  if (wanted.password.empty()) {
    ASSAY_TRY(made.once, people.invite(name));
  } else {
    ASSAY_CHECK(people.set_password(name, wanted.password));
  }
  made.user = view_of(people.find(name).value_or(UserRecord{}));
  return made;
}

void add_users(ApiTable& table, Leader& leader) {
  People& people = leader.accounts().people();
  table.add({.path = "/api/v1/users",
             .scope = Scope::admin,
             .summary = "Accounts, by name",
             .handle = answering([&people](const HttpRequest&, const Principal&) -> Result<UserList> {
               UserList answer;
               for (const auto& user : people.list()) answer.users.push_back(view_of(user));
               return answer;
             })});
  table.add({.method = "POST",
             .path = "/api/v1/users",
             .scope = Scope::admin,
             .summary = "A new account, with a password or a link that lets its user in once",
             .handle = taking<NewUser>([&people](const NewUser& wanted, const HttpRequest&, const Principal&) {
               return add_user(people, wanted);
             })});
  table.add(
      {.method = "PUT",
       .path = "/api/v1/users/{user}",
       .scope = Scope::admin,
       .summary = "Change an account's role or name, or whether its user has to stay out",
       .parameters = {kUser},
       .handle = taking<UserChange>([&people](const UserChange& wanted, const HttpRequest& request, const Principal&) {
         return change_user(people, request.capture("user"), wanted);
       })});
  table.add({.method = "DELETE",
             .path = "/api/v1/users/{user}",
             .scope = Scope::admin,
             .summary = "Remove an account with its sessions, tokens, links and panels; its runs stay",
             .parameters = {kUser},
             .handle = answering([&leader](const HttpRequest& request, const Principal&) -> Result<Done> {
               ASSAY_CHECK(leader.accounts().remove_user(request.capture("user")));
               return Done{};
             })});
  table.add({.method = "POST",
             .path = "/api/v1/users/{user}/password",
             .scope = Scope::admin,
             .summary = "Give an account a password, or a link that lets its user in once; its sessions end",
             .parameters = {kUser},
             .handle = taking<PasswordReset>(
                 [&people](const PasswordReset& wanted, const HttpRequest& request, const Principal&) {
                   return reset_password(people, request.capture("user"), wanted);
                 })});
}

void add_tokens(ApiTable& table, Leader& leader) {
  PersonalTokens& tokens = leader.accounts().tokens();
  table.add(
      {.path = "/api/v1/tokens",
       .summary = "The caller's own tokens",
       .parameters = {{.name = "all",
                       .description = "true: those of everybody, for administrators",
                       .type = "boolean"}},
       .handle = answering([&tokens](const HttpRequest& request, const Principal& caller) -> Result<PersonalTokenList> {
         const bool all = wants_all(request, caller);
         if (!all) {
           ASSAY_CHECK(check_has_account(caller));
         }
         PersonalTokenList answer;
         for (const auto& token : all ? tokens.all() : tokens.of(caller.account)) {
           answer.tokens.push_back(view_of(token));
         }
         return answer;
       })});
  table.add({.method = "POST",
             .path = "/api/v1/tokens",
             .summary = "A token for the caller's own programs",
             .audit = ApiEndpoint::Audit::always,
             .handle = taking<NewPersonalToken>([&tokens](const NewPersonalToken& wanted, const HttpRequest&,
                                                          const Principal& caller) -> Result<MadeToken> {
               ASSAY_CHECK(check_signed_in(caller));
               ASSAY_TRY(const auto lifetime, lifetime_in(wanted.length));
               ASSAY_TRY(auto made, tokens.create(caller.account, wanted.name, wanted.scopes, lifetime));
               return MadeToken{.token = view_of(made.token), .secret = std::move(made.secret)};
             })});
  table.add({.method = "DELETE",
             .path = "/api/v1/tokens/{token}",
             .summary = "Revoke a token of the caller's; administrators, anybody's",
             .parameters = {{.name = "token", .in = In::path, .description = "Its id"}},
             .audit = ApiEndpoint::Audit::always,
             .handle = answering([&tokens](const HttpRequest& request, const Principal& caller) -> Result<Done> {
               const auto token = tokens.find(request.capture("token"));
               // Whose it is not is not told that it exists.
               if (!token || (token->user != caller.account && !caller.scopes.has(Scope::admin))) {
                 return Error{.kind = ErrorKind::not_found, .message = "you have no such token"};
               }
               ASSAY_CHECK(tokens.revoke(token->id));
               return Done{};
             })});
}

Result<MadeLink> make_link(Leader& leader, NewShareLink wanted, const Principal& caller) {
  ASSAY_CHECK(check_has_account(caller));
  ASSAY_TRY(const auto lifetime, lifetime_in(wanted.length));
  if (wanted.runs.size() > ShareLinks::kMostRuns) {
    return Error{.kind = ErrorKind::usage,
                 .message = fmt::format("a link names {} runs at most", ShareLinks::kMostRuns)};
  }
  for (const auto& run : wanted.runs) {
    ASSAY_CHECK(leader.runs().find_run(run));
  }
  if (!wanted.study.empty()) {
    ASSAY_CHECK(leader.runs().find_study(wanted.study));
  }
  ASSAY_TRY(auto made, leader.accounts().links().create({.id = {},
                                                         .hash = {},
                                                         .user = caller.account,
                                                         .kind = std::move(wanted.kind),
                                                         .runs = std::move(wanted.runs),
                                                         .study = std::move(wanted.study),
                                                         .note = shortened(wanted.note, kLongestNote)},
                                                        lifetime));
  return MadeLink{.link = view_of(made.link), .secret = std::move(made.secret)};
}

void add_links(ApiTable& table, Leader& leader) {
  ShareLinks& links = leader.accounts().links();
  table.add(
      {.path = "/api/v1/links",
       .scope = Scope::run,
       .summary = "Links that the caller shares",
       .parameters = {{.name = "all",
                       .description = "true: those of everybody, for administrators",
                       .type = "boolean"}},
       .handle = answering([&links](const HttpRequest& request, const Principal& caller) -> Result<ShareLinkList> {
         const bool all = wants_all(request, caller);
         if (!all) {
           ASSAY_CHECK(check_has_account(caller));
         }
         ShareLinkList answer;
         for (const auto& link : all ? links.all() : links.of(caller.account)) answer.links.push_back(view_of(link));
         return answer;
       })});
  table.add(
      {.method = "POST",
       .path = "/api/v1/links",
       .scope = Scope::run,
       .summary = "A link that shows one run, study, report or comparison to whoever has it, read-only",
       .handle = taking<NewShareLink>([&leader](NewShareLink wanted, const HttpRequest&, const Principal& caller) {
         return make_link(leader, std::move(wanted), caller);
       })});
  table.add({.method = "DELETE",
             .path = "/api/v1/links/{link}",
             .scope = Scope::run,
             .summary = "Revoke a link of the caller's; administrators, anybody's",
             .parameters = {{.name = "link", .in = In::path, .description = "Its id"}},
             .handle = answering([&links](const HttpRequest& request, const Principal& caller) -> Result<Done> {
               const auto link = links.find(request.capture("link"));
               if (!link || (link->user != caller.account && !caller.scopes.has(Scope::admin))) {
                 return Error{.kind = ErrorKind::not_found, .message = "you have no such link"};
               }
               ASSAY_CHECK(links.revoke(link->id));
               return Done{};
             })});
}

}  // namespace

void add_account_endpoints(ApiTable& table, Leader& leader) {
  add_users(table, leader);
  add_tokens(table, leader);
  add_links(table, leader);
}

}  // namespace assay
