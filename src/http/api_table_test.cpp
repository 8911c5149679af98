#include "http/api_table.h"

#include <set>

#include "http/http_fixture.h"

namespace assay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Result<HttpResponse> nothing(const HttpRequest&, const Principal&) { return HttpResponse::text(200, ""); }

TEST(ApiTable, TheDocumentSaysWhatARouteTakesAndNeeds) {
  ApiTable table;
  table.add({.method = "POST",
             .path = "/api/v1/things/{thing}",
             .scope = Scope::alerts,
             .summary = "Change a thing",
             .parameters = {{.name = "thing", .in = ApiParameter::In::path, .description = "Its name"},
                            {.name = "loud", .description = "true: aloud", .type = "boolean"},
                            {.name = "colour", .in = ApiParameter::In::body, .description = "New", .required = true}},
             .handle = nothing});
  table.add({.path = "/api/v1/things/{thing}", .scope = std::nullopt, .answer = "text/plain", .handle = nothing});
  const auto document = parsed(pretty_json(table.document()));
  EXPECT_EQ(document.at("openapi").as_string(), "3.1.0");
  const auto& path = document.at("paths").at("/api/v1/things/{thing}").as_object();
  const auto& post = path.at("post").as_object();
  EXPECT_EQ(post.at("summary").as_string(), "Change a thing");
  EXPECT_THAT(std::string(post.at("description").as_string()),
              HasSubstr("Needs the scope alerts: a token of role user or admin."));
  EXPECT_EQ(json::serialize(post.at("security")), R"([{"token":["alerts"]}])");
  const auto& parameters = post.at("parameters").as_array();
  ASSERT_EQ(parameters.size(), 2u);
  EXPECT_EQ(parameters[0].at("in").as_string(), "path");
  EXPECT_TRUE(parameters[0].at("required").as_bool());
  EXPECT_EQ(parameters[1].at("schema").at("type").as_string(), "boolean");
  EXPECT_FALSE(parameters[1].at("required").as_bool());
  EXPECT_TRUE(post.at("requestBody").at("required").as_bool());
  const auto& schema = post.at("requestBody").at("content").at("application/json").at("schema");
  EXPECT_EQ(json::serialize(schema.at("required")), R"(["colour"])");
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
      EXPECT_THAT(std::string(operation.at("description").as_string()), HasSubstr("Needs the scope "));
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
      EXPECT_EQ(send(upper, target, {}).status, 401) << upper << " " << target;
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
  // What it says of an answer is what stands in it.
  for (const char* path : {"/api/v1/nodes", "/api/v1/events", "/api/v1/alerts", "/api/v1/silences", "/api/v1/series",
                           "/api/v1/query", "/api/v1/commands"}) {
    const auto& content = paths.at(path).at("get").at("responses").at("200").at("content").at("application/json");
    const auto& properties = content.at("schema").at("properties").as_object();
    const auto answered = answer("GET", path, Role::user);
    EXPECT_EQ(answered.size(), properties.size()) << path;
    for (const auto& [name, value] : answered) {
      ASSERT_TRUE(properties.contains(name)) << path << " " << name;
      const auto type = properties.at(name).at("type").as_string();
      EXPECT_TRUE(value.is_array()    ? type == "array"
                  : value.is_string() ? type == "string"
                                      : type == "integer")
          << path << " " << name;
    }
  }
}

}  // namespace
}  // namespace assay
