#include <fmt/format.h>

#include <memory>

#include "access/secrets.h"
#include "access/token_book.h"
#include "base/text.h"
#include "base/units.h"
#include "commands.h"
#include "leader_place.h"
#include "net/tls.h"
#include "report/text/table.h"

namespace assay {
namespace {

struct TokenOptions {
  std::string role;
  std::string name;
  std::string lifetime;
  std::string file;
  std::string which;
  std::string nodes;
  std::optional<std::int64_t> uses;
  bool approve = false;
  bool replace = false;
  bool with_nodes = false;
  bool all = false;
};

/// A join token is made to be copied to many machines; one that is found later should be of no use.
constexpr Nanos kJoinLifetime = std::chrono::hours(24);

Result<TokenBook> open_book(const Context& context) {
  return TokenBook::open(LeaderPlace(context.data_folder()).tokens(), context.clock).within("opening the tokens");
}

json::object to_json(const TokenInfo& token) {
  return {{"id", token.id},
          {"name", token.name},
          {"role", name_of(token.role)},
          {"created", iso8601(token.created)},
          {"expires", token.expires ? json::value(iso8601(*token.expires)) : json::value(nullptr)},
          {"revoked", token.revoked},
          {"nodes", token.terms.nodes.empty() ? json::value(nullptr) : json::value(token.terms.nodes)},
          {"uses", token.terms.most_nodes ? json::value(*token.terms.most_nodes) : json::value(nullptr)},
          {"approval", token.terms.needs_approval},
          {"nodes_let_in", token.nodes_let_in}};
}

/// An agent must know its leader by more than its address. The certificate is that of a leader that runs or has run.
std::optional<std::string> leader_fingerprint(const LeaderPlace& place) {
  if (const auto endpoint = read_endpoint(place); endpoint && !endpoint->fingerprint.empty())
    return endpoint->fingerprint;
  const auto made = certificate_fingerprint(place.tls() / "assay-tls.crt");
  return made ? std::optional(*made) : std::nullopt;
}

/// What whoever uses a token must know of the leader's certificate beside it.
std::string trust_notice(const Context& context, bool is_join, const std::optional<std::string>& fingerprint) {
  const auto endpoint = read_endpoint(LeaderPlace(context.data_folder()));
  if (is_join && !fingerprint && !endpoint) {
    return "No leader has run here yet, so this token does not say how to know it. For a leader with TLS, make the "
           "token "
           "after its first start.\n";
  }
  if (is_join || !fingerprint) return "";
  return fmt::format("On other machines it goes with --fingerprint {} (or ASSAY_FINGERPRINT).\n", *fingerprint);
}

Result<std::optional<Nanos>> lifetime_of(const TokenOptions& options, Role role) {
  if (options.lifetime == "never") return std::optional<Nanos>();
  if (options.lifetime.empty()) return role == Role::agent ? std::optional(kJoinLifetime) : std::nullopt;
  const auto parsed = parse_duration(options.lifetime);
  if (parsed) return std::optional(*parsed);
  return Error{.kind = ErrorKind::usage,
               .message = fmt::format("--expires '{}' {}", options.lifetime, parsed.error().message)};
}

/// Takes the keys away from those who have the names that the token is for.
Result<void> free_names(TokenBook& book, const TokenOptions& options) {
  if (!options.replace) return {};
  if (options.nodes.empty()) {
    return Error{.kind = ErrorKind::usage, .message = "--replace needs --nodes: whose names are to be taken back?"};
  }
  for (const auto& node : book.nodes()) {
    if (node.revoked || !matches_node_pattern(options.nodes, node.node)) continue;
    ASSAY_CHECK(book.revoke("node:" + node.node));
  }
  return {};
}

std::string until_text(const TokenInfo& token) {
  return token.expires ? fmt::format(", good until {}", local_time(*token.expires)) : "";
}

int create_token(const Context& context, const TokenOptions& options) {
  const auto role = role_from(options.role);
  if (!role) {
    return context.fail({.kind = ErrorKind::usage,
                         .message = fmt::format("'{}' is no role", options.role),
                         .hint = "Roles are agent, viewer, user and admin."});
  }
  const auto lifetime = lifetime_of(options, *role);
  if (!lifetime) return context.fail(lifetime.error());
  std::error_code ignored;
  if (!options.file.empty() && fs::exists(options.file, ignored)) {
    return context.fail({.kind = ErrorKind::usage,
                         .message = fmt::format("'{}' exists already", options.file),
                         .hint = "A token never replaces a file: name another, or remove that one."});
  }
  auto book = open_book(context);
  if (!book) return context.fail(book.error());
  // First, since a token does not let in whose key was revoked after it was made.
  if (const auto freed = free_names(*book, options); !freed) return context.fail(freed.error());
  const auto made =
      book->create(*role, options.name, *lifetime,
                   {.nodes = options.nodes, .most_nodes = options.uses, .needs_approval = options.approve});
  if (!made) return context.fail(made.error());
  const bool is_join = *role == Role::agent;
  const auto fingerprint = leader_fingerprint(LeaderPlace(context.data_folder()));
  const std::string text = is_join ? join_token_text(made->secret, fingerprint) : made->secret;
  if (!context.json && !context.quiet) print_error(trust_notice(context, is_join, fingerprint));
  json::object result = to_json(made->info);
  if (options.file.empty()) {
    result["token"] = text;
    if (!context.json) print(text + "\n");
    if (!context.json && !context.quiet) {
      print_error(fmt::format(
          "This is token {} ({}){}. It is not shown again; --out FILE would have kept it from the screen.\n",
          made->info.name, options.role, until_text(made->info)));
    }
    return context.succeed(std::move(result));
  }
  if (const auto written = write_secret_file(options.file, text); !written) {
    // A token that nobody has is of no use to anybody but a thief.
    if (!book->revoke(made->info.id)) print_error("The token could not be revoked again.\n");
    return context.fail(written.error());
  }
  if (!context.json && !context.quiet) {
    print(
        fmt::format("Token {} ({}{}) is in {}\n", made->info.name, options.role, until_text(made->info), options.file));
  }
  result["file"] = options.file;
  return context.succeed(std::move(result));
}

std::string state_of(const TokenInfo& token, WallTime now) {
  if (token.revoked) return "revoked";
  if (token.expires && *token.expires <= now) return "expired";
  return "good";
}

/// Whom it let in, of whom it may.
std::string join_text(const TokenInfo& token) {
  if (token.role != Role::agent) return "";
  std::string text = std::to_string(token.nodes_let_in);
  if (token.terms.most_nodes) text += fmt::format(" of {}", *token.terms.most_nodes);
  if (!token.terms.nodes.empty()) text += " " + token.terms.nodes;
  return token.terms.needs_approval ? text + ", to be approved" : text;
}

int list_tokens(const Context& context, const TokenOptions& options) {
  auto book = open_book(context);
  if (!book) return context.fail(book.error());
  const WallTime now = context.clock.wall();
  Table table({{"Token"}, {"Name"}, {"Role"}, {"State"}, {"Made"}, {"Expires"}, {"Nodes"}});
  json::array tokens, nodes;
  std::vector<std::string> waiting;
  for (const auto& token : book->tokens()) {
    const std::string state = state_of(token, now);
    if (!options.all && state != "good") continue;
    tokens.push_back(to_json(token));
    table.add({token.id, Cell(token.name, Colour::bold), std::string(name_of(token.role)),
               Cell(state, state == "good" ? Colour::green : Colour::red), local_time(token.created),
               token.expires ? local_time(*token.expires) : "never", join_text(token)});
  }
  for (const auto& node : book->nodes()) {
    if (!options.all && node.revoked) continue;
    nodes.push_back(json::object{{"node", node.node},
                                 {"joined", iso8601(node.joined)},
                                 {"by_token", node.by_token},
                                 {"revoked", node.revoked},
                                 {"waits", node.waits}});
    if (node.waits && !node.revoked) waiting.push_back(node.node);
  }
  if (!context.json) {
    print(tokens.empty() ? "No tokens. `assay token create --role agent` makes one.\n"
                         : table.render(context.out_style(), 0));
    print(context.out_style().paint(Colour::dim, fmt::format("{} nodes have a key of their own; `assay token revoke "
                                                             "node:NAME` takes one away.\n",
                                                             nodes.size())));
    if (!waiting.empty()) {
      print(fmt::format("{} wait to be let in (assay nodes approve NODE): {}\n", waiting.size(), join(waiting, ", ")));
    }
  }
  return context.succeed({{"tokens", std::move(tokens)}, {"nodes", std::move(nodes)}});
}

int revoke_token(const Context& context, const TokenOptions& options) {
  auto book = open_book(context);
  if (!book) return context.fail(book.error());
  const auto revoked = book->revoke(options.which, options.with_nodes);
  if (!revoked) return context.fail(revoked.error());
  if (!context.json && !context.quiet) {
    print(fmt::format("{} is good for nothing from now on.\n", options.which));
    if (revoked->name == kOwnerToken) {
      print("It was the one that the owner of this folder uses; `assay serve` makes a new one when it starts.\n");
    }
    if (options.which.starts_with("node:")) {
      print("The node can join again with a new key and a new join token alone: assay token create --role agent\n");
    }
  }
  return context.succeed(to_json(*revoked));
}

}  // namespace

Action add_token(CLI::App& app, Context& context) {
  auto options = std::make_shared<TokenOptions>();
  auto* command =
      app.add_subcommand("token", "Make, list and revoke tokens, on the leader's machine")->group("Cluster");
  command->require_subcommand(1);
  auto* create = command->add_subcommand("create", "Make a token");
  create->add_option("--role", options->role, "agent (joins nodes), viewer, user or admin")
      ->required()
      ->type_name("ROLE");
  create->add_option("--name", options->name, "What it is called in lists and logs")->type_name("NAME");
  create->add_option("--expires", options->lifetime, "How long it is good: 12h, 30d, never [agent: 24h, else never]")
      ->type_name("TIME");
  create->add_option("--nodes", options->nodes, "For agents: only nodes of these names: gpu*, gpu0[1-8],login")
      ->type_name("PATTERN");
  create->add_option("--uses", options->uses, "For agents: so many nodes, and no more")->type_name("N");
  create->add_flag("--approve", options->approve, "For agents: nodes wait until `assay nodes approve NODE`");
  create->add_flag("--replace", options->replace, "With --nodes: take these names back from those who have them");
  create->add_option("-o,--out", options->file, "Write it to a new file that only you can read")->type_name("FILE");
  auto* list = command->add_subcommand("list", "Show tokens; the secrets themselves are not kept");
  list->add_flag("-a,--all", options->all, "Expired and revoked ones, too");
  auto* revoke = command->add_subcommand("revoke", "Make a token, or the key of a node, worthless");
  revoke->add_option("TOKEN", options->which, "An id or a name; node:NAME for the key of a node")->required();
  revoke->add_flag("--with-nodes", options->with_nodes, "And the keys of all nodes that it let in");
  command->footer(R"(
Examples:
  assay token create --role agent --out join.token       for the agents; carries the leader's fingerprint
  assay token create --role viewer --name grafana --expires 365d
  assay token revoke grafana
  assay token revoke node:gpu03                           the node stays out until it has a new join token
  assay token revoke join-march --with-nodes              a join token was leaked: out with whoever came in with it
  assay token create --role agent --nodes gpu03 --uses 1 --replace   a stranger took the name of gpu03)");
  return [&context, options, create, list] {
    if (create->parsed()) return create_token(context, *options);
    return list->parsed() ? list_tokens(context, *options) : revoke_token(context, *options);
  };
}

}  // namespace assay
