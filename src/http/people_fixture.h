#pragma once

#include <string>
#include <utility>
#include <vector>

#include "accounts/accounts.h"
#include "http/http_fixture.h"
#include "model/run.h"

namespace assay {

/// The same with people who sign in by a password: two users, a viewer, an administrator.
class PeopleServerTest : public LeaderServerTest {
 protected:
  static constexpr const char* kPassword = "correct horse battery";

  PeopleServerTest() {
    for (const auto& [name, role] : std::vector<std::pair<const char*, Role>>{
             {"ada", Role::user}, {"bob", Role::user}, {"vera", Role::viewer}, {"root", Role::admin}}) {
      EXPECT_TRUE(people().add(name, "", role).ok());
      EXPECT_TRUE(people().set_password(name, kPassword).ok());
    }
  }
  People& people() { return leader_->accounts().people(); }

  struct Browser {
    std::string cookie;
    std::string csrf;
    /// As our own page sends it.
    Headers headers() const { return {{"Cookie", cookie}, {"X-Assay-Csrf", csrf}}; }
    /// As another page makes a browser send it.
    Headers forged() const { return {{"Cookie", cookie}}; }
  };
  static std::string sign_in_body(const std::string& user, const std::string& password = kPassword) {
    return json::serialize(json::object{{"user", user}, {"password", password}});
  }
  Browser browser(const std::string& user) {
    const auto response = send("POST", "/api/v1/session", {}, sign_in_body(user));
    EXPECT_EQ(response.status, 200) << response.body;
    const std::string field(response.headers.find("Set-Cookie").value_or(""));
    return {.cookie = field.substr(0, field.find(';')),
            .csrf = std::string(parsed(response.body).at("csrf").as_string())};
  }
  int status(const std::string& method, const std::string& target, Headers headers, std::string body = "") {
    return send(method, target, std::move(headers), std::move(body)).status;
  }
  json::object good(const std::string& method, const std::string& target, Headers headers, std::string body = "") {
    const auto response = send(method, target, std::move(headers), std::move(body));
    EXPECT_EQ(response.status, 200) << method << " " << target << ": " << response.body;
    return parsed(response.body);
  }
  static Headers bearing(const json::object& made) {
    return {{"Authorization", "Bearer " + std::string(made.at("secret").as_string())}};
  }
  /// A run that somebody records themselves.
  std::string recorded(const Headers& who) {
    Run run;
    run.kind = "null";
    const auto made = good("POST", "/api/v1/runs/recorded", who, json::serialize(json::object{{"run", to_json(run)}}));
    return std::string(made.at("run").at("id").as_string());
  }
};

}  // namespace assay
