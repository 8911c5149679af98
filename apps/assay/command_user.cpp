#include <fmt/format.h>

#include <memory>

#include "api/account_types.h"
#include "base/text.h"
#include "client/ask.h"
#include "commands.h"
#include "leader_place.h"
#include "logins.h"
#include "net/url_text.h"
#include "report/text/style.h"
#include "report/text/table.h"

namespace assay {
namespace {

struct UserOptions {
  std::string name;
  std::string full_name;
  std::string role = "user";
  bool password = false;
  bool undo = false;
};

std::string user_path(const std::string& user) { return "/api/v1/users/" + percent_encode(user); }

Result<std::string> wanted_password(const UserOptions& options) {
  if (!options.password) return std::string();
  return ask_secretly(fmt::format("New password of {}: ", options.name));
}

/// What lets somebody in, for whoever hands it to them.
int tell_invitation(const Context& context, const Connection& leader, const Invitation& made, std::string_view done) {
  json::object result = write_api(made);
  if (!made.once.empty()) result["link"] = fmt::format("{}/#/login?once={}", leader.address(), made.once);
  if (!context.json) {
    if (!context.quiet) print(fmt::format("{} ({}) {}.\n", made.user.name, made.user.role, done));
    if (!made.once.empty()) {
      print(fmt::format("{}\n", std::string(result.at("link").as_string())));
      if (!context.quiet) print_error("The link works once, for 24 hours, and is not shown again.\n");
    }
  }
  return context.succeed(std::move(result));
}

int add_one(const Context& context, Connection& leader, const UserOptions& options) {
  auto password = wanted_password(options);
  if (!password) return context.fail(password.error());
  const auto made = tell<Invitation>(leader, "POST", "/api/v1/users",
                                     NewUser{.name = options.name,
                                             .full_name = options.full_name,
                                             .role = options.role,
                                             .password = std::move(*password)});
  return made ? tell_invitation(context, leader, *made, "has an account") : context.fail(made.error());
}

int give_password(const Context& context, Connection& leader, const UserOptions& options) {
  auto password = wanted_password(options);
  if (!password) return context.fail(password.error());
  const auto made = tell<Invitation>(leader, "POST", user_path(options.name) + "/password",
                                     PasswordReset{.password = std::move(*password)});
  return made ? tell_invitation(context, leader, *made, "is signed out everywhere and comes in anew")
              : context.fail(made.error());
}

int list_users(const Context& context, Connection& leader) {
  const auto list = ask<UserList>(leader, "/api/v1/users");
  if (!list) return context.fail(list.error());
  Table table({{"User"}, {"Name"}, {"Role"}, {"State"}, {"Password"}, {"Last login"}});
  for (const auto& user : list->users) {
    table.add({Cell(user.name, Colour::bold), user.full_name, user.role,
               Cell(user.disabled ? "disabled" : "good", user.disabled ? Colour::red : Colour::green),
               user.directory      ? "directory"
               : user.has_password ? "yes"
                                   : "none yet",
               user.last_login ? local_time(*user.last_login) : "never"});
  }
  if (!context.json) {
    print(list->users.empty() ? "No accounts. `assay user add NAME` makes one.\n"
                              : table.render(context.out_style(), 0));
  }
  return context.succeed(write_api(*list));
}

int change_user(const Context& context, Connection& leader, const std::string& user, const UserChange& change,
                const std::string& done) {
  return change_at_leader(context, leader, "PUT", user_path(user), write_api(change), done);
}

struct AuditOptions {
  std::string who;
  std::string from;
  std::size_t limit = 50;
};

int show_audit(const Context& context, const AuditOptions& options) {
  auto leader = connect_to_leader(context);
  if (!leader) return context.fail(leader.error());
  std::string target = fmt::format("/api/v1/audit?limit={}", options.limit);
  if (!options.who.empty()) target += "&who=" + percent_encode(options.who);
  if (!options.from.empty()) target += "&from=" + percent_encode(options.from);
  const auto list = ask<AuditList>(**leader, target);
  if (!list) return context.fail(list.error());
  Table table({{"When"}, {"Who"}, {"From"}, {"What"}, {"About"}, {"Outcome"}});
  for (const auto& entry : list->entries) {
    const bool done = entry.status < 400;
    table.add({local_time(entry.time), entry.who.empty() ? "?" : printable(entry.who), entry.from, entry.what,
               printable(entry.about),
               Cell(done ? "done" : fmt::format("{} {}", entry.status, printable(entry.detail)),
                    done ? Colour::green : Colour::red)});
  }
  if (!context.json) {
    print(list->entries.empty() ? "Nothing was changed.\n" : table.render(context.out_style(), 0));
  }
  return context.succeed(write_api(*list));
}

}  // namespace

Action add_user(CLI::App& app, Context& context) {
  auto options = std::make_shared<UserOptions>();
  auto* command =
      app.add_subcommand("user", "Accounts of people: make, list, change and remove them")->group("Cluster");
  command->require_subcommand(1);
  const auto named = [&](const char* name, const char* description) {
    auto* made = command->add_subcommand(name, description);
    made->add_option("NAME", options->name, "What they sign in with")->required();
    return made;
  };
  const auto making = [&](const char* name) {
    auto* made = named(name, "Make an account; prints a link that lets its user in once");
    made->add_option("--role", options->role, "viewer (looks), user (runs what the catalog offers) or admin [user]")
        ->type_name("ROLE");
    made->add_option("--full-name", options->full_name, "What people call them")->type_name("TEXT");
    made->add_flag("--password", options->password, "Ask for a password, or read it from a pipe, instead of the link");
    return made;
  };
  auto* add = making("add");
  // As tokens are made; help names one of the two.
  auto* create = making("create")->group("");
  auto* list = command->add_subcommand("list", "Show accounts");
  auto* role = named("role", "Change what somebody may do");
  role->add_option("ROLE", options->role, "viewer, user or admin")->required();
  auto* disable = named("disable", "Keep somebody out: sessions end, tokens and links are good for nothing");
  disable->add_flag("--undo", options->undo, "Let them in again");
  auto* password = named("password", "Forget a password; prints a link that lets its user in once");
  password->add_flag("--password", options->password, "Ask for a new one, or read it from a pipe, instead");
  auto* remove = named("remove", "Remove an account; its runs stay");
  command->footer(R"(
Asks the leader of the data folder, or --leader, as an administrator.
Examples:
  assay user add ada --full-name "Ada Lovelace"
  assay user add grace --role admin --password
  assay user role ada viewer
  assay user disable ada
  assay user password ada          she forgot hers: hand her the link)");
  return [&context, options, add, create, list, role, disable, password, remove] {
    auto leader = connect_to_leader(context);
    if (!leader) return context.fail(leader.error());
    const std::string& name = options->name;
    if (add->parsed() || create->parsed()) return add_one(context, **leader, *options);
    if (password->parsed()) return give_password(context, **leader, *options);
    if (list->parsed()) return list_users(context, **leader);
    if (role->parsed()) {
      return change_user(context, **leader, name, {.full_name = {}, .role = options->role, .disabled = {}},
                         fmt::format("{} is {} from now on.", name, options->role));
    }
    if (disable->parsed()) {
      return change_user(context, **leader, name, {.full_name = {}, .role = {}, .disabled = !options->undo},
                         fmt::format("{} {}.", name, options->undo ? "may come in again" : "has to stay out"));
    }
    return remove->parsed() ? change_at_leader(context, **leader, "DELETE", user_path(name), {},
                                               fmt::format("{} has no account any more.", name))
                            : 0;
  };
}

Action add_audit(CLI::App& app, Context& context) {
  auto options = std::make_shared<AuditOptions>();
  auto* command = app.add_subcommand("audit", "Show who changed what, when and from where")->group("Cluster");
  command->add_option("--who", options->who, "Of these alone: 'user ada', 'token ci'")->type_name("WHO");
  command->add_option("--from", options->from, "Since then: 2026-11-15T08:00:00Z")->type_name("TIME");
  command->add_option("-n,--limit", options->limit, "At most so many, newest first [50]")->type_name("N");
  command->footer("\nExamples:\n  assay audit\n  assay audit --who 'user ada' --limit 500");
  return [&context, options] { return show_audit(context, *options); };
}

}  // namespace assay
