#include "http/http_fixture.h"

#include <utility>
#include <vector>

#include "access/secrets.h"
#include "api/schema_fixture.h"
#include "base/byte_stream.h"
#include "http/api_routes.h"
#include "http/api_table.h"
#include "http/gatekeeper.h"
#include "http/leader_router.h"
#include "net/client_options.h"
#include "net/http_client.h"
#include "net/request_target.h"
#include "net/router.h"
#include "net/server_fixture.h"
#include "net/url.h"

namespace assay {

struct AnswerCheck::Described {
  std::vector<ApiHandler> types;
  Router routes;
};

AnswerCheck::AnswerCheck(const ApiTable& table) : described_(std::make_unique<Described>()) {
  for (const auto& endpoint : table.endpoints()) {
    described_->types.push_back(endpoint.handle);
    described_->types.back().call = {};
    described_->routes.add(endpoint.method, endpoint.path, [at = described_->types.size() - 1](const HttpRequest&) {
      return HttpResponse::text(static_cast<int>(at), "");
    });
  }
}

AnswerCheck::~AnswerCheck() = default;

void AnswerCheck::expect_fits(const std::string& method, const std::string& target, int status, std::string_view media,
                              std::string_view body) const {
  const auto parsed_target = parse_request_target(target);
  if (method == "HEAD" || !parsed_target || status >= 300 || !media.starts_with("application/json")) return;
  const auto match = described_->routes.match(method, *parsed_target);
  if (!match.handler) return;
  const auto& said = described_->types.at(static_cast<std::size_t>((*match.handler)({}).status));
  ASSERT_NE(said.gives, nullptr) << method << " " << target << " answers what nobody described";
  const auto value = parse_json(body);
  ASSERT_TRUE(value.ok()) << body;
  EXPECT_THAT(SchemaCheck(*said.gives).problems(*value, schema_of(*said.gives)), testing::IsEmpty())
      << method << " " << target << ": " << body.substr(0, 1000);
}

ApiTable checked(const ApiTable& table) {
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

LeaderServerTest::LeaderServerTest() {
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
  check_ = std::make_unique<AnswerCheck>(make_leader_api(*leader_, *book_, {}));
}

LeaderServerTest::~LeaderServerTest() = default;

void LeaderServerTest::serve() {
  server_ =
      start_server(make_leader_router(*leader_, *gatekeeper_,
                                      {.backup = [] { return std::shared_ptr<ByteSource>(text_source("an archive")); },
                                       .fingerprint = [] { return "sha256:" + std::string(64, 'a'); }}));
  auto url = parse_url("http://127.0.0.1:" + std::to_string(port_of(*server_)));
  ASSERT_TRUE(url.ok());
  // Under a sanitizer an answer of megabytes takes seconds, and half a minute where others want the processors, too.
  auto client = HttpClient::create(std::move(*url), {.request_time = std::chrono::minutes(5)});
  ASSERT_TRUE(client.ok());
  client_ = std::move(*client);
}

ClientResponse LeaderServerTest::send(const std::string& method, const std::string& target, Headers headers,
                                      std::string body) {
  if (!body.empty() && !headers.find("Content-Type")) headers.add("Content-Type", "application/json");
  auto response =
      client_->send({.method = method, .target = target, .headers = std::move(headers), .body = std::move(body)});
  EXPECT_TRUE(response.ok()) << method << " " << target << ": " << response.error().text();
  if (!response) return {};
  check_->expect_fits(method, target, response->status, response->headers.find("Content-Type").value_or(""),
                      response->body);
  return *response;
}

json::object LeaderServerTest::answer(const std::string& method, const std::string& target, Role role,
                                      std::string body) {
  const auto response = send(method, target, bearer(role), std::move(body));
  EXPECT_EQ(response.status, 200) << method << " " << target << ": " << response.body;
  return parsed(response.body);
}

}  // namespace assay
