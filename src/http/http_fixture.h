#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "access/secrets.h"
#include "access/token_book.h"
#include "api/schema_fixture.h"
#include "http/leader_router.h"
#include "leader/leader_fixture.h"
#include "net/client_messages.h"
#include "net/http_client.h"
#include "net/request_target.h"
#include "net/server_fixture.h"

namespace assay {

/// Holds answers against what an API says of them.
class AnswerCheck {
 public:
  explicit AnswerCheck(const ApiTable& table) {
    for (const auto& endpoint : table.endpoints()) {
      types_.push_back(endpoint.handle);
      types_.back().call = {};
      routes_.add(endpoint.method, endpoint.path, [at = types_.size() - 1](const HttpRequest&) {
        return HttpResponse::text(static_cast<int>(at), "");
      });
    }
  }

  /// That an answer with a status below 400 is what its endpoint said.
  void expect_fits(const std::string& method, const std::string& target, int status, std::string_view media,
                   std::string_view body) const {
    const auto parsed_target = parse_request_target(target);
    if (method == "HEAD" || !parsed_target || status >= 300 || !media.starts_with("application/json")) return;
    const auto match = routes_.match(method, *parsed_target);
    if (!match.handler) return;
    const auto& said = types_.at(static_cast<std::size_t>((*match.handler)({}).status));
    ASSERT_NE(said.gives, nullptr) << method << " " << target << " answers what nobody described";
    const auto value = parse_json(body);
    ASSERT_TRUE(value.ok()) << body;
    EXPECT_THAT(SchemaCheck(*said.gives).problems(*value, schema_of(*said.gives)), testing::IsEmpty())
        << method << " " << target << ": " << body.substr(0, 1000);
  }

 private:
  std::vector<ApiHandler> types_;
  Router routes_;
};

/// The same table, whose answers are looked at on their way.
inline ApiTable checked(const ApiTable& table) {
  ApiTable made;
  const auto check = std::make_shared<AnswerCheck>(table);
  for (auto endpoint : table.endpoints()) {
    endpoint.handle.call = [check, call = endpoint.handle.call](const HttpRequest& request,
                                                                const Principal& caller) -> Result<HttpResponse> {
      auto response = call(request, caller);
      if (response) {
        check->expect_fits(request.method, request.target, response->status,
                           response->headers.find("Content-Type").value_or(""), response->body);
      }
      return response;
    };
    made.add(std::move(endpoint));
  }
  return made;
}

/// A leader behind a real server on loopback, with a token of each role and the keys of two nodes. Every answer
/// is held against its description. The clock stands still while the server runs: its threads read it.
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
    gatekeeper_ = make_gatekeeper(*leader_, *book_);
    check_.emplace(make_leader_api(*leader_, *book_, {}));
  }

  void serve() {
    server_ = start_server(
        make_leader_router(*leader_, *gatekeeper_,
                           {.backup = [] { return std::shared_ptr<ByteSource>(text_source("an archive")); },
                            .fingerprint = [] { return "sha256:" + std::string(64, 'a'); }}));
    auto url = parse_url("http://127.0.0.1:" + std::to_string(port_of(*server_)));
    ASSERT_TRUE(url.ok());
    // Under a sanitizer an answer of megabytes takes seconds, and half a minute where others want the processors, too.
    auto client = HttpClient::create(std::move(*url), {.request_time = std::chrono::minutes(5)});
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

  /// A body is JSON unless the header fields say something else, as what our own clients send.
  ClientResponse send(const std::string& method, const std::string& target, Headers headers, std::string body = "") {
    if (!body.empty() && !headers.find("Content-Type")) headers.add("Content-Type", "application/json");
    auto response =
        client_->send({.method = method, .target = target, .headers = std::move(headers), .body = std::move(body)});
    EXPECT_TRUE(response.ok()) << method << " " << target << ": " << response.error().text();
    if (!response) return {};
    check_->expect_fits(method, target, response->status, response->headers.find("Content-Type").value_or(""),
                        response->body);
    return *response;
  }
  json::object answer(const std::string& method, const std::string& target, Role role, std::string body = "") {
    const auto response = send(method, target, bearer(role), std::move(body));
    EXPECT_EQ(response.status, 200) << method << " " << target << ": " << response.body;
    return parsed(response.body);
  }

  std::optional<TokenBook> book_;
  std::map<Role, std::string> secrets_;
  std::map<std::string, std::string> keys_;
  std::unique_ptr<Gatekeeper> gatekeeper_;
  std::unique_ptr<HttpServer> server_;
  std::unique_ptr<HttpClient> client_;
  std::optional<AnswerCheck> check_;
};

}  // namespace assay
