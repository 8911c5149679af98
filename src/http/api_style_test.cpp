// Another API beside ours: lenient about what it does not know, and with errors of another shape.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "access/fake_authenticator.h"
#include "base/byte_stream.h"
#include "http/api_table.h"
#include "leader/leader_fixture.h"
#include "net/client_messages.h"
#include "net/client_options.h"
#include "net/http_client.h"
#include "net/router.h"
#include "net/server_fixture.h"
#include "net/url.h"

namespace assay {

struct ForeignValue {
  std::string run_id;
  double value = 0;
  std::int64_t step = 0;
};
struct ForeignAnswer {
  std::string by;
};
struct ForeignSize {
  std::uint64_t bytes = 0;
};
struct ForeignError {
  std::string error_code;
  std::string message;
};
template <>
const ApiType<ForeignValue>& api_type() {
  static const auto type = ApiType<ForeignValue>("Value", "A value of a run.")
                               .field("run_id", &ForeignValue::run_id, "Of which run")
                               .optional("value", &ForeignValue::value, "The value")
                               .optional("step", &ForeignValue::step, "When");
  return type;
}
template <>
const ApiType<ForeignAnswer>& api_type() {
  static const auto type = ApiType<ForeignAnswer>("Kept", "It is kept.").field("by", &ForeignAnswer::by, "By whom");
  return type;
}
template <>
const ApiType<ForeignSize>& api_type() {
  static const auto type = ApiType<ForeignSize>("Size", "A size.").field("bytes", &ForeignSize::bytes, "How many");
  return type;
}
template <>
const ApiType<ForeignError>& api_type() {
  static const auto type = ApiType<ForeignError>("ForeignError", "What is wrong.")
                               .field("error_code", &ForeignError::error_code, "For programs")
                               .field("message", &ForeignError::message, "For people");
  return type;
}

namespace {

using testing::HasSubstr;

ApiStyle foreign_style() {
  return {.base = "/api/2.0/other",
          .title = "Another API",
          .ignores_unknown = true,
          .make_error =
              [](int status, const Error& error) {
                const char* code = error.kind == ErrorKind::not_found ? "RESOURCE_DOES_NOT_EXIST" : "NOT_GOOD";
                return json_response(write_api(ForeignError{.error_code = code, .message = error.text()}), status);
              },
          .error_type = &api_type<ForeignError>().info()};
}

Result<ForeignAnswer> log_value(const ForeignValue& value, const HttpRequest&, const Principal& caller) {
  if (value.run_id == "lost") return Error{.kind = ErrorKind::not_found, .message = "there is no run 'lost'"};
  if (value.run_id == "bad") throw std::runtime_error("unexpected");
  return ForeignAnswer{.by = caller.name};
}

Result<ForeignSize> count_bytes(const HttpRequest& request, const Principal&) {
  ASSAY_TRY(const auto bytes, pour(*request.body_source, [](std::string_view) { return Result<void>(); }));
  return ForeignSize{.bytes = bytes};
}

class ApiStyleTest : public testing::Test {
 protected:
  ApiStyleTest() : book_(TokenBook::open(folder_.path() / "tokens.jsonl", clock_).value()), gatekeeper_(book_) {
    for (const Role role : {Role::viewer, Role::user}) {
      secrets_[role] = book_.create(role, "", std::nullopt).value().secret;
    }
    foreign_.add({.method = "POST",
                  .path = "/api/2.0/other/values",
                  .scope = Scope::run,
                  .summary = "Keep a value",
                  .route = {.body_bytes = 1000},
                  .handle = taking<ForeignValue>(log_value)});
    foreign_.add({.method = "PUT",
                  .path = "/api/2.0/other/files/{file...}",
                  .scope = Scope::run,
                  .summary = "Keep a file",
                  .body = ApiEndpoint::Body::streamed,
                  .handle = answering(count_bytes)});
    own_.add({.path = "/api/v1/things",
              .handle = answering([](const HttpRequest&, const Principal&) -> Result<Done> { return Done{}; })});
    Router router;
    router.on_refusal(
        [](int status, std::string_view message) { return error_response(status, refusal_error(status, message)); });
    own_.route(router, gatekeeper_);
    foreign_.route(router, gatekeeper_);
    server_ = start_server(std::move(router));
    client_ =
        HttpClient::create(parse_url("http://127.0.0.1:" + std::to_string(port_of(*server_))).value(), {}).value();
  }
  ClientResponse ask(const std::string& method, const std::string& target, const std::string& body,
                     std::optional<Role> role = Role::user) {
    Headers headers;
    if (role) headers.add("Authorization", "Bearer " + secrets_.at(*role));
    return client_->send({.method = method, .target = target, .headers = std::move(headers), .body = body}).value();
  }
  /// Status and error of a request to the foreign API.
  std::string refused(const std::string& method, const std::string& target, const std::string& body,
                      std::optional<Role> role = Role::user) {
    const auto response = ask(method, "/api/2.0/other" + target, body, role);
    return std::to_string(response.status) + " " + std::string(parsed(response.body).at("error_code").as_string());
  }

  TemporaryFolder folder_;
  ManualClock clock_;
  TokenBook book_;
  Gatekeeper gatekeeper_;
  std::map<Role, std::string> secrets_;
  ApiTable own_;
  ApiTable foreign_{foreign_style()};
  std::unique_ptr<HttpServer> server_;
  std::unique_ptr<HttpClient> client_;
};

TEST_F(ApiStyleTest, PassesOverWhatItDoesNotKnow) {
  const auto taken = ask("POST", "/api/2.0/other/values?new=1&new=2",
                         R"({"run_id": "r", "value": 1.5, "step": 3, "run_uuid": "r", "more": {"a": []}})");
  EXPECT_EQ(taken.status, 200) << taken.body;
  EXPECT_EQ(ask("GET", "/api/v1/things?new=1", "").status, 400) << "ours does not";
}

TEST_F(ApiStyleTest, IsStrictAboutWhatItKnows) {
  for (const char* body : {"{}", R"({"run_id": 5})", R"({"run_id": "r", "value": "much"})",
                           R"({"run_id": "r", "step": 1.5})", R"({"run_id": "r", "run_id": "s"})", "[]", "{"}) {
    EXPECT_EQ(refused("POST", "/values", body), "400 NOT_GOOD") << body;
  }
}

TEST_F(ApiStyleTest, EveryErrorHasItsShape) {
  const std::string good = R"({"run_id": "r"})";
  EXPECT_EQ(refused("POST", "/values", good, std::nullopt), "401 NOT_GOOD") << "before the body is read";
  EXPECT_EQ(refused("POST", "/values", good, Role::viewer), "403 NOT_GOOD");
  EXPECT_EQ(refused("POST", "/values", R"({"run_id": "lost"})"), "404 RESOURCE_DOES_NOT_EXIST");
  EXPECT_EQ(refused("POST", "/values", R"({"run_id": "bad"})"), "500 NOT_GOOD");
  EXPECT_EQ(refused("GET", "/nothing", ""), "404 RESOURCE_DOES_NOT_EXIST");
  EXPECT_EQ(refused("GET", "/values", ""), "405 NOT_GOOD");
  EXPECT_EQ(refused("POST", "/values", std::string(1001, ' ')), "413 NOT_GOOD");
  const auto nobody = ask("POST", "/api/2.0/other/values", good, std::nullopt);
  EXPECT_TRUE(nobody.headers.find("WWW-Authenticate").has_value());
  EXPECT_EQ(parsed(ask("GET", "/api/v1/nothing", "").body).at("error").at("kind").as_string(), "not_found");
  EXPECT_EQ(parsed(ask("GET", "/api/2.0/others", "").body).at("error").at("kind").as_string(), "not_found");
}

TEST_F(ApiStyleTest, AnEndpointMayStreamItsBody) {
  const auto kept = ask("PUT", "/api/2.0/other/files/a/b", std::string(3 << 20, 'x'));
  EXPECT_EQ(kept.status, 200);
  EXPECT_EQ(parsed(kept.body).at("bytes").to_number<int>(), 3 << 20);
}

TEST_F(ApiStyleTest, TheDocumentSaysSo) {
  const auto document = foreign_.document();
  EXPECT_EQ(document.at("info").at("title").as_string(), "Another API");
  const auto& post = document.at("paths").at("/api/2.0/other/values").at("post");
  EXPECT_EQ(post.at("operationId").as_string(), "post_values");
  EXPECT_EQ(post.at("requestBody").at("content").at("application/json").at("schema").at("$ref").as_string(),
            "#/components/schemas/Value");
  EXPECT_FALSE(document.at("components").at("schemas").at("Value").as_object().contains("additionalProperties"));
  EXPECT_THAT(json::serialize(own_.document()), HasSubstr("hint"));
  EXPECT_THAT(json::serialize(document), testing::Not(HasSubstr("hint")));
}

}  // namespace
}  // namespace assay
