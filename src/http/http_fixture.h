#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "access/secrets.h"
#include "access/token_book.h"
#include "http/leader_router.h"
#include "leader/leader_fixture.h"
#include "net/http_client.h"
#include "net/server_fixture.h"

namespace assay {

/// A leader behind a real server on loopback, with a token of each role and the keys of two nodes. The clock stands
/// still while the server runs: its threads read it.
class LeaderServerTest : public LeaderTest {
 protected:
  LeaderServerTest() {
    auto book = TokenBook::open(folder_.path() / "tokens.jsonl", clock_);
    EXPECT_TRUE(book.ok()) << book.error().text();
    book_.emplace(std::move(*book));
    for (const Role role : {Role::viewer, Role::user, Role::admin, Role::agent}) {
      auto token = book_->create(role, "the-" + std::string(name_of(role)), std::nullopt);
      EXPECT_TRUE(token.ok());
      secrets_[role] = token->secret;
    }
    for (const char* node : {"gpu01", "gpu02"}) {
      keys_[node] = new_secret();
      EXPECT_TRUE(book_->join(secrets_[Role::agent], node, keys_[node]).ok());
    }
    gatekeeper_.emplace(*book_);
  }

  void serve() {
    server_ = start_server(
        make_leader_router(*leader_, *gatekeeper_, [](const fs::path& folder) { return make_folders(folder); }));
    auto url = parse_url("http://127.0.0.1:" + std::to_string(port_of(*server_)));
    ASSERT_TRUE(url.ok());
    auto client = HttpClient::create(std::move(*url));
    ASSERT_TRUE(client.ok());
    client_ = std::move(*client);
  }

  /// The header fields of somebody with this token; nobody without one.
  Headers bearer(std::optional<Role> role) {
    return role ? Headers{{"Authorization", "Bearer " + secrets_.at(*role)}} : Headers{};
  }
  Headers agent(const std::string& node) {
    return {{"Authorization", "Bearer " + keys_.at(node)}, {"Assay-Node", node}};
  }

  ClientResponse send(const std::string& method, const std::string& target, Headers headers, std::string body = "") {
    auto response =
        client_->send({.method = method, .target = target, .headers = std::move(headers), .body = std::move(body)});
    EXPECT_TRUE(response.ok()) << method << " " << target << ": " << response.error().text();
    return response ? *response : ClientResponse{};
  }
  json::object answer(const std::string& method, const std::string& target, Role role, std::string body = "") {
    const auto response = send(method, target, bearer(role), std::move(body));
    EXPECT_EQ(response.status, 200) << method << " " << target << ": " << response.body;
    return parsed(response.body);
  }

  std::optional<TokenBook> book_;
  std::map<Role, std::string> secrets_;
  std::map<std::string, std::string> keys_;
  std::optional<Gatekeeper> gatekeeper_;
  std::unique_ptr<HttpServer> server_;
  std::unique_ptr<HttpClient> client_;
};

}  // namespace assay
