#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "access/role.h"
#include "access/token_book.h"
#include "leader/leader_fixture.h"
#include "net/client_messages.h"

namespace assay {

class ApiTable;
class Gatekeeper;
class HttpClient;
class HttpServer;

/// Holds answers against what an API says of them.
class AnswerCheck {
 public:
  explicit AnswerCheck(const ApiTable& table);
  ~AnswerCheck();

  /// That an answer with a status below 400 is what its endpoint said.
  void expect_fits(const std::string& method, const std::string& target, int status, std::string_view media,
                   std::string_view body) const;

 private:
  struct Described;
  std::unique_ptr<Described> described_;
};

/// The same table, whose answers are looked at on their way.
ApiTable checked(const ApiTable& table);

/// A leader behind a real server on loopback, with a token of each role and the keys of two nodes. Every answer
/// is held against its description. The clock stands still while the server runs: its threads read it.
class LeaderServerTest : public LeaderTest {
 protected:
  LeaderServerTest();
  ~LeaderServerTest() override;

  void serve();

  /// The header fields of somebody with this token; nobody without one.
  Headers bearer(std::optional<Role> role) {
    return role ? Headers{{"Authorization", "Bearer " + secrets_.at(*role)}} : Headers{};
  }
  Headers agent(const std::string& node) {
    return {{"Authorization", "Bearer " + keys_.at(node)}, {"Assay-Node", node}};
  }

  /// A body is JSON unless the header fields say something else, as what our own clients send.
  ClientResponse send(const std::string& method, const std::string& target, Headers headers, std::string body = "");
  json::object answer(const std::string& method, const std::string& target, Role role, std::string body = "");

  std::optional<TokenBook> book_;
  std::map<Role, std::string> secrets_;
  std::map<std::string, std::string> keys_;
  std::unique_ptr<Gatekeeper> gatekeeper_;
  std::unique_ptr<HttpServer> server_;
  std::unique_ptr<HttpClient> client_;
  std::unique_ptr<AnswerCheck> check_;
};

}  // namespace assay
