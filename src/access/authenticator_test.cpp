#include "access/authenticator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <memory>

#include "access/fake_authenticator.h"
#include "access/secrets.h"
#include "access/token_book.h"

namespace assay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

/// One implementation: somebody it knows, and what happens to them.
struct Known {
  virtual ~Known() = default;
  virtual Authenticator& authenticator() = 0;
  virtual Claims good() = 0;
  virtual Claims bad() = 0;
  virtual Principal expected() = 0;
  virtual void revoke() = 0;
  /// Makes it unable to tell.
  virtual void damage() = 0;
};

struct BookKnown : Known {
  BookKnown() : book(TokenBook::open(folder.path() / "tokens.jsonl", clock).value()) {}
  void damage() override { std::ofstream(folder.path() / "tokens.jsonl", std::ios::app) << "damaged\n"; }

  TemporaryFolder folder;
  ManualClock clock;
  TokenBook book;
};

struct TokenKnown : BookKnown {
  Authenticator& authenticator() override { return own; }
  Claims good() override { return {.bearer = secret}; }
  Claims bad() override { return {.bearer = new_secret()}; }
  Principal expected() override {
    return {.kind = Principal::Kind::user, .name = "eva", .scopes = scopes_of(Role::user)};
  }
  void revoke() override { EXPECT_TRUE(book.revoke("eva").ok()); }

  std::string secret = book.create(Role::user, "eva", std::nullopt).value().secret;
  TokenAuthenticator own{book};
};

struct NodeKnown : BookKnown {
  NodeKnown() { EXPECT_TRUE(book.join(book.create(Role::agent, "", std::nullopt).value().secret, "gpu03", key).ok()); }
  Authenticator& authenticator() override { return own; }
  Claims good() override { return {.bearer = key, .node = "gpu03"}; }
  Claims bad() override { return {.bearer = key, .node = "gpu04"}; }
  Principal expected() override { return {.kind = Principal::Kind::node, .name = "gpu03", .scopes = {Scope::node}}; }
  void revoke() override { EXPECT_TRUE(book.revoke("node:gpu03").ok()); }

  std::string key = new_secret();
  NodeKeyAuthenticator own{book};
};

struct FakeKnown : Known {
  Authenticator& authenticator() override { return own; }
  Claims good() override { return {.bearer = "secret"}; }
  Claims bad() override { return {.bearer = "another"}; }
  Principal expected() override { return {.name = "somebody", .scopes = {Scope::read}}; }
  void revoke() override { own.known.clear(); }
  void damage() override { own.broken = true; }

  FakeAuthenticator own{
      std::map<std::string, Principal>{{"secret", {.name = "somebody", .scopes = {Scope::read}, .title = "somebody"}}}};
};

using MakeKnown = std::unique_ptr<Known> (*)();
template <typename Kind>
std::unique_ptr<Known> make_known() {
  return std::make_unique<Kind>();
}

/// What every implementation holds to.
class AuthenticatorContract : public testing::TestWithParam<MakeKnown> {
 protected:
  std::unique_ptr<Known> known_ = GetParam()();
};
INSTANTIATE_TEST_SUITE_P(All, AuthenticatorContract,
                         testing::Values(&make_known<TokenKnown>, &make_known<NodeKnown>, &make_known<FakeKnown>));

TEST_P(AuthenticatorContract, WhoShowsNothingIsNobody) {
  const auto nobody = known_->authenticator().authenticate({});
  ASSERT_TRUE(nobody.ok()) << nobody.error().text();
  EXPECT_FALSE(nobody->has_value());
}

TEST_P(AuthenticatorContract, KnowsWhoIsKnown) {
  const auto found = known_->authenticator().authenticate(known_->good());
  ASSERT_TRUE(found.ok() && found->has_value());
  EXPECT_EQ((*found)->name, known_->expected().name);
  EXPECT_EQ((*found)->kind, known_->expected().kind);
  EXPECT_EQ((*found)->scopes, known_->expected().scopes);
  EXPECT_THAT((*found)->title, HasSubstr((*found)->name));
}

TEST_P(AuthenticatorContract, DeniesWhatIsNotGoodWithoutRepeatingIt) {
  const auto denied = known_->authenticator().authenticate(known_->bad());
  ASSERT_FALSE(denied.ok());
  EXPECT_EQ(denied.error().kind, ErrorKind::denied);
  EXPECT_THAT(denied.error().text(), Not(HasSubstr(known_->bad().bearer)));
}

TEST_P(AuthenticatorContract, DeniesWhatIsNotGoodAnyMore) {
  known_->revoke();
  EXPECT_EQ(known_->authenticator().authenticate(known_->good()).error().kind, ErrorKind::denied);
}

TEST_P(AuthenticatorContract, SaysThatItCannotTell) {
  known_->damage();
  const auto unknown = known_->authenticator().authenticate(known_->good());
  ASSERT_FALSE(unknown.ok());
  EXPECT_NE(unknown.error().kind, ErrorKind::denied);
}

TEST(Scopes, OfRoles) {
  EXPECT_TRUE(scopes_of(Role::user).has(Scope::run));
  EXPECT_FALSE(scopes_of(Role::user).has(Scope::manage));
  EXPECT_FALSE(scopes_of(Role::viewer).has(Scope::alerts));
  EXPECT_EQ(scopes_of(Role::agent), Scopes{Scope::join}) << "and may not look";
  EXPECT_THAT(roles_with(Scope::read), ElementsAre(Role::viewer, Role::user, Role::admin));
  EXPECT_THAT(roles_with(Scope::join), ElementsAre(Role::agent));
  EXPECT_THAT(roles_with(Scope::node), ElementsAre()) << "only a node's own key";
  EXPECT_EQ(name_of(Scope::manage), "manage");
}

}  // namespace
}  // namespace assay
