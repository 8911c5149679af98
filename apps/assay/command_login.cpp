#include <fmt/format.h>

#include <memory>

#include "agent/node_facts.h"
#include "api/account_types.h"
#include "base/ids.h"
#include "client/ask.h"
#include "commands.h"
#include "leader_place.h"
#include "logins.h"
#include "net/client_messages.h"
#include "net/headers.h"

namespace assay {
namespace {

/// Long enough not to be a nuisance; a stolen laptop's token ends by itself.
constexpr const char* kTokenLife = "90d";

struct LoginOptions {
  std::string url;
  std::string user;
};

struct OpenSession {
  Headers headers;  ///< that show who is signed in
  SessionInfo info;
};

Result<OpenSession> sign_in(Connection& leader, const SignIn& wanted) {
  ClientRequest request{.method = "POST", .target = "/api/v1/session", .body = json::serialize(write_api(wanted))};
  request.headers.add("Content-Type", "application/json");
  ASSAY_TRY(const auto response, leader.send(std::move(request)));
  ASSAY_TRY(auto info, answer_in<SessionInfo>(response.body));
  const std::string cookie(response.headers.find("Set-Cookie").value_or(""));
  return OpenSession{.headers = {{"Cookie", cookie.substr(0, cookie.find(';'))}, {"X-Assay-Csrf", info.csrf}},
                     .info = std::move(info)};
}

/// Signs in, has a token made for this machine, and signs out again: passwords and sessions are not kept.
Result<Login> log_in(const Context& context, const LoginOptions& options, const SignIn& wanted) {
  const LeaderEndpoint endpoint{.url = options.url, .fingerprint = context.leader.fingerprint, .certificate = {}};
  ASSAY_TRY(const auto stranger, connect_as(context, endpoint, {}));
  ASSAY_TRY(const auto session, sign_in(*stranger, wanted));
  ASSAY_TRY(const auto leader, connect_as(context, endpoint, session.headers));
  const NewPersonalToken token{.name = fmt::format("cli-{}-{}", short_host_name().substr(0, 40), new_id()),
                               .scopes = session.info.scopes,
                               .length = kTokenLife};
  ASSAY_TRY(const auto made, tell<MadeToken>(*leader, "POST", "/api/v1/tokens", token));
  ASSAY_CHECK(tell<>(*leader, "DELETE", "/api/v1/session"));
  Login login{.url = options.url,
              .user = session.info.user,
              .token = made.secret,
              .id = made.token.id,
              .fingerprint = context.leader.fingerprint};
  ASSAY_CHECK(keep_login(context, login));
  return login;
}

int run_login(const Context& context, const LoginOptions& options) {
  SignIn wanted{.user = options.user};
  if (wanted.user.empty()) {
    auto user = ask_openly("User: ");
    if (!user) return context.fail(user.error());
    wanted.user = std::move(*user);
  }
  auto password = ask_secretly(fmt::format("Password of {}: ", wanted.user));
  if (!password) return context.fail(password.error());
  wanted.password = std::move(*password);
  const auto login = log_in(context, options, wanted).within("signing in");
  if (!login) return context.fail(login.error());
  if (!context.json && !context.quiet) {
    print(fmt::format("Signed in as {}. Commands with --leader {} are yours for {}; `assay logout {}` ends that.\n",
                      login->user, options.url, kTokenLife, options.url));
  }
  return context.succeed(
      {{"user", login->user}, {"leader", options.url}, {"file", login_file(context, options.url).string()}});
}

Result<void> log_out(const Context& context, const std::string& url) {
  ASSAY_TRY(const auto login, find_login(context, url));
  if (!login) return Error{.kind = ErrorKind::not_found, .message = fmt::format("you are not signed in at {}", url)};
  const std::string fingerprint = context.leader.fingerprint.empty() ? login->fingerprint : context.leader.fingerprint;
  ASSAY_TRY(const auto leader, connect_as(context, {.url = url, .fingerprint = fingerprint, .certificate = {}},
                                          {{"Authorization", "Bearer " + login->token}}));
  const auto revoked = tell<>(*leader, "DELETE", "/api/v1/tokens/" + login->id);
  // Expired or revoked already: it is as good as gone.
  const bool gone =
      revoked || revoked.error().kind == ErrorKind::denied || revoked.error().kind == ErrorKind::not_found;
  if (!gone) return revoked.error();
  return forget_login(context, url);
}

int run_logout(const Context& context, const std::string& url) {
  if (const auto done = log_out(context, url); !done) return context.fail(done.error());
  if (!context.json && !context.quiet) print(fmt::format("Signed out at {}.\n", url));
  return context.succeed({{"leader", url}});
}

}  // namespace

Action add_login(CLI::App& app, Context& context) {
  auto options = std::make_shared<LoginOptions>();
  auto* command =
      app.add_subcommand("login", "Sign in at a leader once, for later commands with --leader")->group("Cluster");
  command->add_option("URL", options->url, "The leader: https://gpu.example.org:8470")->required();
  command->add_option("--user", options->user, "Your name there; otherwise it is asked for")->type_name("NAME");
  command->footer(R"(
The password is asked for, or read from a pipe, and not kept: what is, is a token that only you can read and that
`assay logout` revokes.
Examples:
  assay login https://gpu.example.org:8470
  assay nodes --leader https://gpu.example.org:8470
  assay login https://head:8470 --fingerprint sha256:…    a leader that made its own certificate)");
  return [&context, options] { return run_login(context, *options); };
}

Action add_logout(CLI::App& app, Context& context) {
  auto url = std::make_shared<std::string>();
  auto* command =
      app.add_subcommand("logout", "Sign out at a leader: revoke what `assay login` has left")->group("Cluster");
  command->add_option("URL", *url, "The leader, as it was given to `assay login`")->required();
  command->footer("\nExample:\n  assay logout https://gpu.example.org:8470");
  return [&context, url] { return run_logout(context, *url); };
}

}  // namespace assay
