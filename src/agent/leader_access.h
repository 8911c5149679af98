#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/files.h"
#include "base/result.h"
#include "client/connection.h"
#include "net/tls_trust.h"
#include "net/url.h"

namespace assay {

class HttpClient;
struct ClientRequest;
struct ClientResponse;

/// How an agent reaches its leader and who it is there.
struct LeaderAccess {
  Url url;
  TlsTrust trust;
  std::string node;
  std::string key;                         ///< 64 hexadecimal digits
  bool never_joined = false;               ///< the key was made by this process: no leader can know it
  std::optional<std::string> join_secret;  ///< lets the key be registered
};

/// Errors (`usage`) for a URL over which a secret would travel in the clear: plain HTTP to another machine.
Result<void> check_transport(const Url& url, bool insecure);

/// The agent's own key.
struct AgentKey {
  std::string text;
  bool is_new = false;
};
/// Finds the key in a file, or makes one (mode 0600). Errors: `denied` (others may read it), `bad_file` (no key), `io`.
Result<AgentKey> keep_key(const fs::path& file);

/// What to believe of the leader's certificate: as given, or, where nothing is, by the fingerprint that an earlier
/// start was given and that is kept in the file. A given one replaces that.
Result<TlsTrust> keep_trust(const fs::path& file, TlsTrust given);

/// A client with limits that fit what leaders answer to agents. `request_time` is for a whole request.
Result<std::unique_ptr<HttpClient>> make_leader_client(const LeaderAccess& access, Nanos request_time);

/// The same for requests of several threads, which all carry the agent's key and node. A wish that streams a body may
/// take any time as long as bytes move. A leader that does not know the key is as good as none: `unreachable`.
Result<std::shared_ptr<Connection>> connect_to_leader(const LeaderAccess& access, Nanos request_time);

/// A request with the agent's key and node on it.
ClientRequest agent_request(const LeaderAccess& access, std::string method, std::string_view path);

/// What a status other than the expected means, in the leader's own words where it used the protocol's.
Error leader_error(const ClientResponse& response);

}  // namespace assay
