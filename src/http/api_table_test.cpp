#include "http/api_table.h"

#include <gtest/gtest-spi.h>

#include <map>
#include <set>

#include "http/api_pages.h"
#include "http/api_routes.h"
#include "http/http_fixture.h"
#include "http/leader_router.h"
#include "support/generated_page.h"

namespace assay {

struct ThingChange {
  std::string colour;
  std::string reason;
};
template <>
const ApiType<ThingChange>& api_type() {
  static const auto type = ApiType<ThingChange>("ThingChange", "A thing made new.")
                               .field("colour", &ThingChange::colour, "New")
                               .optional("reason", &ThingChange::reason, "Why");
  return type;
}

namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Result<HttpResponse> nothing(const HttpRequest&, const Principal&) { return HttpResponse::text(200, ""); }
Result<Done> change_thing(const ThingChange&, const HttpRequest&, const Principal&) { return Done{}; }

TEST(ApiTable, TheDocumentSaysWhatARouteTakesAndNeeds) {
  ApiTable table;
  table.add({.method = "POST",
             .path = "/api/v1/things/{thing}",
             .scope = Scope::alerts,
             .summary = "Change a thing",
             .parameters = {{.name = "thing", .in = ApiParameter::In::path, .description = "Its name"},
                            {.name = "loud", .description = "true: aloud", .type = "boolean"}},
             .handle = taking<ThingChange>(change_thing)});
  table.add({.path = "/api/v1/things/{thing}", .scope = std::nullopt, .handle = writing("text/plain", nothing)});
  const auto document = parsed(pretty_json(table.document()));
  EXPECT_EQ(document.at("openapi").as_string(), "3.1.0");
  const auto& path = document.at("paths").at("/api/v1/things/{thing}").as_object();
  const auto& post = path.at("post").as_object();
  EXPECT_EQ(post.at("summary").as_string(), "Change a thing");
  EXPECT_THAT(std::string(post.at("description").as_string()),
              HasSubstr("Needs the scope alerts: a token or an account of role user or admin."));
  EXPECT_EQ(json::serialize(post.at("security")), R"([{"token":["alerts"]},{"session":["alerts"]}])");
  const auto& parameters = post.at("parameters").as_array();
  ASSERT_EQ(parameters.size(), 2u);
  EXPECT_EQ(parameters[0].at("in").as_string(), "path");
  EXPECT_TRUE(parameters[0].at("required").as_bool());
  EXPECT_EQ(parameters[1].at("schema").at("type").as_string(), "boolean");
  EXPECT_FALSE(parameters[1].at("required").as_bool());
  EXPECT_TRUE(post.at("requestBody").at("required").as_bool());
  const auto& body = post.at("requestBody").at("content").at("application/json").at("schema");
  EXPECT_EQ(body.at("$ref").as_string(), "#/components/schemas/ThingChange");
  const auto& schema = document.at("components").at("schemas").at("ThingChange");
  EXPECT_EQ(json::serialize(schema.at("required")), R"(["colour"])");
  EXPECT_FALSE(schema.at("additionalProperties").as_bool());
  const auto& content = post.at("responses").at("200").at("content").at("application/json");
  EXPECT_EQ(content.at("schema").at("$ref").as_string(), "#/components/schemas/Done");
  EXPECT_TRUE(path.at("get").at("responses").at("200").at("content").as_object().contains("text/plain"));
  EXPECT_EQ(json::serialize(path.at("get").at("security")), "[]") << "open to all";
}

TEST(ApiTable, ErrorsHaveTheStatusOfTheirKind) {
  const auto status = [](ErrorKind kind) { return error_response(Error{.kind = kind, .message = "x"}).status; };
  EXPECT_EQ(status(ErrorKind::usage), 400);
  EXPECT_EQ(status(ErrorKind::bad_file), 400);
  EXPECT_EQ(status(ErrorKind::denied), 403);
  EXPECT_EQ(status(ErrorKind::not_found), 404);
  EXPECT_EQ(status(ErrorKind::busy), 409);
  EXPECT_EQ(status(ErrorKind::io), 503);
  EXPECT_EQ(status(ErrorKind::timeout), 504);
  EXPECT_EQ(error_response(Error{.kind = ErrorKind::io}).headers.find("Retry-After"), "5");
}

TEST(ApiTable, AnErrorIsReadableWhateverWasAskedFor) {
  const auto response = error_response({.kind = ErrorKind::not_found, .message = "there is no node '\xff\x1b[2J'"});
  EXPECT_EQ(parsed(response.body).at("error").at("message").as_string(), "there is no node '\uFFFD'");
}

TEST(ApiTable, ABodyIsAnObjectOrNothing) {
  HttpRequest request;
  EXPECT_TRUE(body_object(request)->empty());
  request.body = " \n";
  EXPECT_TRUE(body_object(request)->empty());
  request.body = R"({"a": 1})";
  EXPECT_EQ(body_object(request)->size(), 1u);
  for (const char* body : {"[]", "5", "null", "{", "{} {}", "\xff"}) {
    request.body = body;
    EXPECT_EQ(body_object(request).error().kind, ErrorKind::usage) << body;
  }
}

class LeaderDocument : public LeaderServerTest {};

TEST_F(LeaderDocument, EveryRouteOfTheApiIsInItAndAnswers) {
  serve();
  const auto document = parsed(send("GET", "/api/v1/openapi.json", {}).body);
  const auto& paths = document.at("paths").as_object();
  EXPECT_GE(paths.size(), 17u);
  std::set<std::string> operation_ids;
  for (const auto& [path, methods] : paths) {
    for (const auto& [method, operation] : methods.as_object()) {
      EXPECT_FALSE(operation.at("summary").as_string().empty()) << path;
      EXPECT_TRUE(operation_ids.emplace(operation.at("operationId").as_string()).second) << path;
      EXPECT_THAT(std::string(operation.at("description").as_string()),
                  testing::AnyOf(HasSubstr("Needs the scope "), "Open to everybody."));
      // Each {name} is described, and asked for without a token the route is there.
      std::string target;
      for (std::size_t at = 0; at < path.size(); ++at) {
        if (path[at] != '{') {
          target += path[at];
          continue;
        }
        const std::string name = path.substr(at + 1, path.find('}', at) - at - 1);
        const auto& parameters = operation.at("parameters").as_array();
        EXPECT_TRUE(std::any_of(parameters.begin(), parameters.end(),
                                [&](const json::value& parameter) {
                                  return parameter.at("name").as_string() == name &&
                                         parameter.at("in").as_string() == "path";
                                }))
            << path << " does not describe " << name;
        target += "x";
        at = path.find('}', at);
      }
      std::string upper(method);
      std::transform(upper.begin(), upper.end(), upper.begin(),
                     [](char c) { return c >= 'a' ? static_cast<char>(c - 32) : c; });
      EXPECT_EQ(send(upper, target, {{"Content-Type", "application/json"}}).status, 401) << upper << " " << target;
    }
  }
}

TEST_F(LeaderDocument, SaysWhatIsRequiredAndWhatIsAnswered) {
  serve();
  const auto document = parsed(send("GET", "/api/v1/openapi.json", {}).body);
  const auto& paths = document.at("paths").as_object();
  EXPECT_FALSE(paths.at("/api/v1/query").at("get").at("parameters").as_array()[0].at("required").as_bool());
  EXPECT_TRUE(paths.at("/api/v1/series").at("delete").at("parameters").as_array()[0].at("required").as_bool());
  EXPECT_TRUE(paths.at("/api/v1/silences").at("post").at("requestBody").at("required").as_bool());
  EXPECT_FALSE(paths.at("/api/v1/nodes/{node}/drain").at("post").at("requestBody").at("required").as_bool());
  EXPECT_EQ(paths.at("/api/v1/nodes/{node}/trend").at("get").at("operationId").as_string(), "get_nodes_node_trend");
}

TEST_F(LeaderDocument, SaysWhatEveryAnswerIs) {
  const auto table = make_leader_api(*leader_, *book_, {});
  const auto document = table.document();
  const auto& schemas = document.at("components").at("schemas").as_object();
  for (const auto& endpoint : table.endpoints()) {
    const auto& [call, takes, gives, media] = endpoint.handle;
    const std::string what = endpoint.method + " " + endpoint.path;
    if (media == "application/json" || media == "text/event-stream") {
      ASSERT_NE(gives, nullptr) << what << ": nobody said what it answers";
      EXPECT_TRUE(schemas.contains(gives->name)) << what;
    }
    EXPECT_TRUE(!takes || schemas.contains(takes->name)) << what;
  }
  // Two types under one name would pass for each other.
  std::map<std::string, const ApiTypeInfo*> names;
  for (const auto& endpoint : table.endpoints()) {
    for (const auto* type : {endpoint.handle.takes, endpoint.handle.gives}) {
      if (!type) continue;
      EXPECT_EQ(names.emplace(type->name, type).first->second, type) << type->name;
    }
  }
  for (const auto& [name, schema] : schemas) {
    EXPECT_FALSE(schema.at("description").as_string().empty()) << name;
    if (!schema.as_object().contains("properties")) continue;
    for (const auto& [field, said] : schema.at("properties").as_object()) {
      EXPECT_FALSE(said.at("description").as_string().empty()) << name << "." << field;
    }
  }
  EXPECT_EQ(json::serialize(schemas.at("Verdict").at("enum")),
            R"(["none","valid","flagged","invalid","failed","interrupted"])");
}

class GeneratedPage : public LeaderServerTest {
 protected:
  json::object document() { return make_leader_api(*leader_, *book_, {}).document(); }
};
TEST_F(GeneratedPage, OfTheApi) { test::expect_generated_page("docs/reference/api.md", api_reference(document())); }
TEST_F(GeneratedPage, OfTheApiInTypeScript) {
  test::expect_generated_page("web/src/api/types.ts", typescript_of(document()));
}

TEST(AnswerCheck, SeesWhatIsNotAsItWasDescribed) {
  ApiTable table;
  table.add(
      {.path = "/api/v1/things/{thing}",
       .handle = answering([](const HttpRequest&, const Principal&) -> Result<ThingChange> { return ThingChange{}; })});
  const AnswerCheck check(table);
  const auto look = [&](const char* body) {
    check.expect_fits("GET", "/api/v1/things/a?b=c", 200, "application/json", body);
  };
  look(R"({"colour": "red"})");
  EXPECT_NONFATAL_FAILURE(look(R"({"colour": "red", "size": 1})"), "$.size is not described");
  EXPECT_NONFATAL_FAILURE(look("{}"), "$.colour is missing");
}

TEST(ApiPages, SayWhatTheTableSays) {
  ApiTable table;
  table.add({.method = "POST",
             .path = "/api/v1/things/{thing}",
             .scope = Scope::alerts,
             .summary = "Change a thing",
             .parameters = {{.name = "thing", .in = ApiParameter::In::path, .description = "Its name"},
                            {.name = "loud", .description = "true: aloud", .type = "boolean"}},
             .handle = taking<ThingChange>(change_thing)});
  const auto code = typescript_of(table.document());
  EXPECT_THAT(code, HasSubstr("export interface ThingChange {\n  /** New */\n  colour: string;\n"
                              "  /** Why */\n  reason?: string;\n}\n"));
  EXPECT_THAT(code,
              HasSubstr("  /** Change a thing */\n  \"POST /api/v1/things/{thing}\": {\n    path: { thing: string };\n"
                        "    query: { loud?: boolean };\n    body: ThingChange;\n    answer: Done;\n  };\n"));
  EXPECT_THAT(code, HasSubstr("export type ErrorKind = \"oom\" | \"nan\""));
  const auto page = api_reference(table.document());
  EXPECT_THAT(page, HasSubstr("### `POST /api/v1/things/{thing}`\n\nChange a thing. Scope `alerts`.\n"));
  EXPECT_THAT(page, HasSubstr("| `reason` ? | text | Why |\n"));
}

}  // namespace
}  // namespace assay
