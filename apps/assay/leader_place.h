#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/json.h"
#include "base/result.h"
#include "client/connection.h"
#include "context.h"

namespace assay {

struct AlertList;
struct NodeList;
class Headers;

/// Where a leader keeps what is its own, below the data folder.
struct LeaderPlace {
  fs::path folder;

  fs::path data() const { return folder.parent_path(); }
  explicit LeaderPlace(const fs::path& data) : folder(data / "leader") {}
  fs::path tokens() const { return folder / "tokens.jsonl"; }
  fs::path cluster() const { return folder / "cluster.db"; }
  fs::path series() const { return folder / "series"; }
  fs::path tls() const { return folder / "tls"; }
  /// The token with which the owner of the data folder speaks to a leader that runs there.
  fs::path own_token() const { return folder / "owner.token"; }
  /// Where a running leader listens: {"url", "fingerprint", "certificate"}.
  fs::path endpoint() const { return folder / "endpoint.json"; }
};

/// The name of that token.
inline constexpr const char* kOwnerToken = "owner";

struct LeaderEndpoint {
  std::string url;
  std::string fingerprint;  ///< by what others know it, as join tokens say; empty for plain HTTP
  /// Of the certificate itself. Whoever speaks to it from the same machine asks for no more: a certificate of the house
  /// need not be good for a loopback address. Empty: as `fingerprint`.
  std::string certificate;
};
Result<void> write_endpoint(const LeaderPlace& place, const LeaderEndpoint& endpoint);
/// `not_found` if no leader runs here, `denied` if that is not for this user to know.
Result<LeaderEndpoint> read_endpoint(const LeaderPlace& place);

/// A leader at a URL, as whoever `headers` say; --fingerprint and --ca-file count. `usage` where secrets would travel
/// in the clear to another machine.
Result<std::unique_ptr<Connection>> connect_as(const Context& context, const LeaderEndpoint& endpoint, Headers headers);

/// The leader that the user means: --leader (with --token-file, or after `assay login`), or the one of the data folder.
/// `unreachable` with what to do if there is none to be found; `usage` where the token would travel in the clear to
/// another machine.
Result<std::unique_ptr<Connection>> connect_to_leader(const Context& context);

/// Asks the leader for a change and answers the user: `done` is what happened. Returns the exit code.
int change_at_leader(const Context& context, Connection& leader, const std::string& method, const std::string& target,
                     const json::object& body, const std::string& done);

/// Every node, page after page.
Result<NodeList> all_nodes(Connection& leader, bool with_values = false);

/// Alerts that are open, of that node or of all, page after page.
Result<AlertList> all_open_alerts(Connection& leader, const std::string& node = {});

/// What the leader says is wrong with itself (a full disk, outlets that fail): whoever looks at the cluster must know
/// that not everything may be there.
Result<void> print_problems(const Context& context, Connection& leader);

}  // namespace assay
