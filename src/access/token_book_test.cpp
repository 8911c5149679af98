#include "access/token_book.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <fstream>
#include <set>
#include <thread>

#include "access/secrets.h"

namespace assay {
namespace {

using std::chrono::hours;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

class TokenBookTest : public testing::Test {
 protected:
  TokenBook open(TokenBookLimits limits = {}) {
    auto book = TokenBook::open(file_, clock_, limits);
    EXPECT_TRUE(book.ok()) << book.error().text();
    return std::move(*book);
  }
  static std::string make(TokenBook& book, Role role, const std::string& name = "") {
    auto token = book.create(role, name, std::nullopt);
    EXPECT_TRUE(token.ok()) << token.error().text();
    return token->secret;
  }
  void append(std::string_view bytes) { std::ofstream(file_, std::ios::app) << bytes; }
  std::string content() { return *read_file(file_); }

  TemporaryFolder folder_;
  fs::path file_ = folder_.path() / "leader" / "tokens.jsonl";
  ManualClock clock_;
  const std::string key_ = new_secret();
};

template <typename T>
ErrorKind kind_of(const Result<T>& result) {
  EXPECT_FALSE(result.ok());
  return result.ok() ? ErrorKind::internal : result.error().kind;
}

TEST_F(TokenBookTest, TokensAreGoodForTheirRole) {
  TokenBook book = open();
  for (const Role role : {Role::agent, Role::viewer, Role::user, Role::admin}) {
    const auto token = book.create(role, std::string(name_of(role)), std::nullopt);
    ASSERT_TRUE(token.ok());
    const auto checked = book.check(token->secret);
    ASSERT_TRUE(checked.ok()) << checked.error().text();
    EXPECT_EQ(*checked, token->info);
    EXPECT_EQ(checked->role, role);
    EXPECT_EQ(checked->created, clock_.wall());
  }
  EXPECT_THAT(book.tokens(), SizeIs(4));
  EXPECT_EQ(kind_of(book.check(new_secret())), ErrorKind::denied);
  EXPECT_EQ(kind_of(book.check("")), ErrorKind::denied);
}

TEST_F(TokenBookTest, TheFileHoldsNoSecretAndIsPrivate) {
  TokenBook book = open();
  const std::string secret = make(book, Role::agent);
  ASSERT_TRUE(book.join(secret, "gpu03", key_).ok());
  EXPECT_THAT(content(), Not(HasSubstr(secret)));
  EXPECT_THAT(content(), Not(HasSubstr(key_)));
  struct stat info{};
  ASSERT_EQ(::stat(file_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0600U);
}

TEST_F(TokenBookTest, WithoutANameATokenIsCalledByItsId) {
  TokenBook book = open();
  const auto token = book.create(Role::viewer, "", std::nullopt);
  ASSERT_TRUE(token.ok());
  EXPECT_EQ(token->info.name, token->info.id);
}

TEST_F(TokenBookTest, NamesAndLifetimesThatAreRefused) {
  TokenBook book = open();
  EXPECT_EQ(kind_of(book.create(Role::user, "a b", std::nullopt)), ErrorKind::usage);
  EXPECT_EQ(kind_of(book.create(Role::user, "node:gpu03", std::nullopt)), ErrorKind::usage);
  EXPECT_EQ(kind_of(book.create(Role::user, std::string(65, 'x'), std::nullopt)), ErrorKind::usage);
  EXPECT_EQ(kind_of(book.create(Role::user, "a", Nanos(0))), ErrorKind::usage);
  EXPECT_EQ(kind_of(book.create(Role::user, "a", Nanos(-1))), ErrorKind::usage);
  EXPECT_EQ(kind_of(book.create(Role::user, "a", Nanos::max())), ErrorKind::usage);
  EXPECT_THAT(book.tokens(), IsEmpty());
}

TEST_F(TokenBookTest, ANameIsFreeAgainOnceItsTokenIsNoLongerGood) {
  TokenBook book = open();
  ASSERT_TRUE(book.create(Role::user, "ci", hours(1)).ok());
  EXPECT_EQ(kind_of(book.create(Role::user, "ci", std::nullopt)), ErrorKind::usage);
  clock_.advance(hours(1));
  const std::string second = make(book, Role::user, "ci");
  ASSERT_TRUE(book.revoke("ci").ok());
  EXPECT_EQ(kind_of(book.check(second)), ErrorKind::denied);
  EXPECT_TRUE(book.create(Role::user, "ci", std::nullopt).ok());
}

TEST_F(TokenBookTest, TokensExpire) {
  TokenBook book = open();
  const auto token = book.create(Role::user, "ci", seconds(10));
  ASSERT_TRUE(token.ok());
  clock_.advance(seconds(10) - Nanos(1));
  EXPECT_TRUE(book.check(token->secret).ok());
  clock_.advance(Nanos(1));
  const auto late = book.check(token->secret);
  EXPECT_EQ(kind_of(late), ErrorKind::denied);
  EXPECT_THAT(late.error().message, HasSubstr("'ci'"));
  EXPECT_THAT(late.error().message, HasSubstr("expired"));
  EXPECT_THAT(late.error().text(), Not(HasSubstr(token->secret)));
  EXPECT_EQ(kind_of(book.join(token->secret, "gpu03", key_)), ErrorKind::denied);
}

TEST_F(TokenBookTest, RevocationIsSeenByASecondBookAtOnce) {
  TokenBook administrator = open();
  TokenBook leader = open();
  const std::string secret = make(administrator, Role::user, "ci");
  EXPECT_TRUE(leader.check(secret).ok());
  const auto revoked = administrator.revoke("ci");
  ASSERT_TRUE(revoked.ok());
  EXPECT_TRUE(revoked->revoked);
  const auto checked = leader.check(secret);
  EXPECT_EQ(kind_of(checked), ErrorKind::denied);
  EXPECT_THAT(checked.error().message, HasSubstr("revoked"));
  EXPECT_TRUE(administrator.revoke("ci").ok()) << "twice is fine";
  const std::string lines = content();
  EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 2) << "and writes nothing";
}

TEST_F(TokenBookTest, RevokingByIdAndWhatIsNotThere) {
  TokenBook book = open();
  const auto token = book.create(Role::user, "ci", std::nullopt);
  ASSERT_TRUE(token.ok());
  EXPECT_EQ(kind_of(book.revoke("cj")), ErrorKind::not_found);
  EXPECT_EQ(kind_of(book.revoke("node:ci")), ErrorKind::not_found);
  EXPECT_EQ(kind_of(book.revoke("")), ErrorKind::not_found);
  EXPECT_TRUE(book.revoke(token->info.id).ok());
  EXPECT_EQ(kind_of(book.check(token->secret)), ErrorKind::denied);
}

TEST_F(TokenBookTest, NodesJoinOnceAndAgainWithTheSameKey) {
  TokenBook book = open();
  const auto token = book.create(Role::agent, "rack1", std::nullopt);
  ASSERT_TRUE(token.ok());
  EXPECT_EQ(kind_of(book.check_node("gpu03", key_)), ErrorKind::denied);
  ASSERT_TRUE(book.join(token->secret, "gpu03", key_).ok());
  EXPECT_TRUE(book.check_node("gpu03", key_).ok());
  EXPECT_EQ(kind_of(book.check_node("gpu04", key_)), ErrorKind::denied);
  EXPECT_EQ(kind_of(book.check_node("gpu03", new_secret())), ErrorKind::denied);
  const std::string before = content();
  EXPECT_TRUE(book.join(token->secret, "gpu03", key_).ok());
  EXPECT_EQ(content(), before);
  EXPECT_THAT(book.nodes(), ElementsAre(NodeKeyInfo{"gpu03", clock_.wall(), token->info.id, false}));
}

TEST_F(TokenBookTest, AnotherKeyMustWaitForTheRevocationOfTheFirst) {
  TokenBook book = open();
  const std::string secret = make(book, Role::agent);
  ASSERT_TRUE(book.join(secret, "gpu03", key_).ok());
  const std::string other = new_secret();
  const auto refused = book.join(secret, "gpu03", other);
  EXPECT_EQ(kind_of(refused), ErrorKind::busy);
  EXPECT_THAT(refused.error().hint, HasSubstr("assay token revoke node:gpu03"));
  const auto revoked = book.revoke("node:gpu03");
  ASSERT_TRUE(revoked.ok());
  EXPECT_EQ(revoked->name, "gpu03");
  EXPECT_EQ(kind_of(book.check_node("gpu03", key_)), ErrorKind::denied);
  EXPECT_TRUE(book.nodes().front().revoked);
  ASSERT_TRUE(book.join(make(book, Role::agent), "gpu03", other).ok());
  EXPECT_TRUE(book.check_node("gpu03", other).ok());
  EXPECT_EQ(kind_of(book.check_node("gpu03", key_)), ErrorKind::denied);
}

TEST_F(TokenBookTest, ARevokedKeyNeverComesBack) {
  TokenBook book = open();
  const std::string secret = make(book, Role::agent);
  ASSERT_TRUE(book.join(secret, "gpu03", key_).ok());
  ASSERT_TRUE(book.revoke("node:gpu03").ok());
  EXPECT_EQ(kind_of(book.join(secret, "gpu03", key_)), ErrorKind::denied);
  ASSERT_TRUE(book.join(make(book, Role::agent), "gpu03", new_secret()).ok());
  ASSERT_TRUE(book.revoke("node:gpu03").ok());
  EXPECT_EQ(kind_of(book.join(make(book, Role::agent), "gpu03", key_)), ErrorKind::denied) << "not even two keys later";
}

TEST_F(TokenBookTest, ARevokedNodeStaysOutUntilThereIsANewerToken) {
  TokenBook book = open();
  const std::string before = make(book, Role::agent, "before");
  ASSERT_TRUE(book.join(before, "gpu03", key_).ok());
  ASSERT_TRUE(book.revoke("node:gpu03").ok());
  const auto refused = book.join(before, "gpu03", new_secret());
  EXPECT_EQ(kind_of(refused), ErrorKind::denied);
  EXPECT_THAT(refused.error().hint, HasSubstr("assay token create --role agent"));
  EXPECT_TRUE(book.join(before, "gpu04", new_secret()).ok()) << "the token is good for others";
  // Set back: what counts is the order in the book.
  clock_.advance(-hours(1));
  const std::string after = make(book, Role::agent, "after");
  EXPECT_TRUE(open().join(after, "gpu03", new_secret()).ok());
  EXPECT_EQ(kind_of(book.join(before, "gpu03", new_secret())), ErrorKind::busy);
}

TEST_F(TokenBookTest, AJoinTokenLetsInSoManyNodesAndNoMore) {
  TokenBook book = open({.nodes = 2});
  const std::string secret = make(book, Role::agent);
  ASSERT_TRUE(book.join(secret, "gpu01", key_).ok());
  ASSERT_TRUE(book.join(secret, "gpu02", key_).ok());
  const std::string before = content();
  const auto refused = book.join(secret, "gpu03", key_);
  EXPECT_EQ(kind_of(refused), ErrorKind::usage);
  EXPECT_THAT(refused.error().hint, HasSubstr("assay token revoke node:NAME"));
  EXPECT_EQ(content(), before);
  EXPECT_TRUE(book.join(secret, "gpu02", key_).ok()) << "who is in stays in";
  ASSERT_TRUE(book.revoke("node:gpu01").ok());
  EXPECT_TRUE(book.join(secret, "gpu03", key_).ok());
  EXPECT_EQ(kind_of(book.join(make(book, Role::agent), "gpu01", new_secret())), ErrorKind::usage);
  EXPECT_EQ(kind_of(open({.nodes = 2}).join(secret, "gpu04", key_)), ErrorKind::usage);
}

TEST_F(TokenBookTest, AFullBookStillTakesRevocations) {
  TokenBook book = open({.bytes = 4096, .kept_for_revocations = 2048});
  const std::string secret = make(book, Role::agent, "rack1");
  int joined = 0;
  while (joined < 100 && book.join(secret, "gpu" + std::to_string(joined), key_).ok()) ++joined;
  ASSERT_GT(joined, 1);
  ASSERT_LT(joined, 100);
  EXPECT_EQ(kind_of(book.create(Role::admin, "more", std::nullopt)), ErrorKind::io);
  EXPECT_TRUE(book.revoke("rack1").ok());
  EXPECT_TRUE(book.revoke("node:gpu0").ok());
  EXPECT_EQ(kind_of(book.check_node("gpu0", key_)), ErrorKind::denied);
  EXPECT_EQ(kind_of(book.join(secret, "gpu0", new_secret())), ErrorKind::denied);
}

TEST_F(TokenBookTest, JoiningNeedsAGoodTokenForAgentsAndGoodNames) {
  TokenBook book = open();
  const std::string agent = make(book, Role::agent, "agents");
  for (const Role role : {Role::viewer, Role::user, Role::admin}) {
    EXPECT_EQ(kind_of(book.join(make(book, role), "gpu03", key_)), ErrorKind::denied) << name_of(role);
  }
  EXPECT_EQ(kind_of(book.join(new_secret(), "gpu03", key_)), ErrorKind::denied);
  EXPECT_EQ(kind_of(book.join(new_secret(), "../x", "")), ErrorKind::denied) << "strangers learn no rules";
  for (const std::string& name : {std::string(), std::string(".."), std::string("a/b"), std::string(65, 'x')}) {
    EXPECT_EQ(kind_of(book.join(agent, name, key_)), ErrorKind::usage) << name;
  }
  for (const std::string& key : {std::string(), key_.substr(1), key_ + "0", std::string(64, 'g')}) {
    EXPECT_EQ(kind_of(book.join(agent, "gpu03", key)), ErrorKind::usage) << key;
  }
  ASSERT_TRUE(book.revoke("agents").ok());
  EXPECT_EQ(kind_of(book.join(agent, "gpu03", key_)), ErrorKind::denied);
  EXPECT_THAT(book.nodes(), IsEmpty());
}

TEST_F(TokenBookTest, NodesStayWhenTheirTokenGoes) {
  TokenBook book = open();
  const std::string secret = make(book, Role::agent, "rack1");
  ASSERT_TRUE(book.join(secret, "gpu03", key_).ok());
  ASSERT_TRUE(book.revoke("rack1").ok());
  EXPECT_TRUE(book.check_node("gpu03", key_).ok());
}

TEST_F(TokenBookTest, EverythingIsThereAfterOpeningAgain) {
  std::string secret;
  std::string gone;
  {
    TokenBook book = open();
    secret = make(book, Role::agent, "rack1");
    gone = make(book, Role::user, "gone");
    ASSERT_TRUE(book.join(secret, "gpu03", key_).ok());
    ASSERT_TRUE(book.revoke("gone").ok());
  }
  TokenBook book = open();
  EXPECT_TRUE(book.check(secret).ok());
  EXPECT_EQ(kind_of(book.check(gone)), ErrorKind::denied);
  EXPECT_TRUE(book.check_node("gpu03", key_).ok());
}

TEST_F(TokenBookTest, ATornLineIsIgnoredAndRepairedByTheNextWriter) {
  TokenBook book = open();
  const std::string first = make(book, Role::user, "first");
  // Longer than what is written over it, so that no end of it may stay.
  append(R"({"kind":"token","id":"torn","na)" + std::string(600, 'x') + "torn");
  EXPECT_TRUE(book.check(first).ok());
  TokenBook second = open();
  EXPECT_TRUE(second.check(first).ok());
  const std::string after = make(second, Role::user, "after");
  EXPECT_THAT(content(), Not(HasSubstr("torn")));
  EXPECT_TRUE(book.check(after).ok());
  EXPECT_TRUE(open().check(after).ok());
  EXPECT_THAT(book.tokens(), SizeIs(2));
}

TEST_F(TokenBookTest, ALineThatComesInTwoPartsCountsOnceItIsWhole) {
  TokenBook book = open();
  const std::string secret = make(book, Role::user, "ci");
  const std::string line = line_of(TokenRevoked{.id = book.tokens().front().id, .time = clock_.wall()});
  append(line.substr(0, 20));
  EXPECT_TRUE(book.check(secret).ok());
  append(line.substr(20));
  EXPECT_EQ(kind_of(book.check(secret)), ErrorKind::denied);
}

TEST_F(TokenBookTest, ADamagedLineLetsNobodyIn) {
  TokenBook book = open();
  const std::string secret = make(book, Role::admin, "root");
  append("{\"kind\":\"tok\n");
  const auto checked = book.check(secret);
  EXPECT_EQ(kind_of(checked), ErrorKind::bad_file);
  EXPECT_EQ(checked.error().at, file_.string() + ":2");
  EXPECT_FALSE(checked.error().hint.empty());
  EXPECT_EQ(kind_of(book.check(secret)), ErrorKind::bad_file) << "and stays so";
  EXPECT_EQ(kind_of(book.create(Role::admin, "other", std::nullopt)), ErrorKind::bad_file);
  EXPECT_FALSE(TokenBook::open(file_, clock_).ok());
  EXPECT_THAT(book.tokens(), SizeIs(1)) << "what was known last";
}

TEST_F(TokenBookTest, RecordsThatDoNotFitAreDamageToo) {
  {
    open();
  }
  append(line_of(TokenRevoked{.id = "nobody", .time = clock_.wall()}));
  EXPECT_EQ(kind_of(TokenBook::open(file_, clock_)), ErrorKind::bad_file);
}

TEST_F(TokenBookTest, AFileThatOthersCanReadIsRefused) {
  TokenBook book = open();
  const std::string secret = make(book, Role::admin);
  fs::permissions(file_, fs::perms::group_read, fs::perm_options::add);
  const auto opened = TokenBook::open(file_, clock_);
  EXPECT_EQ(kind_of(opened), ErrorKind::denied);
  EXPECT_THAT(opened.error().hint, HasSubstr("chmod 600"));
  EXPECT_EQ(kind_of(book.check(secret)), ErrorKind::denied);
  fs::permissions(file_, fs::perms::group_read, fs::perm_options::remove);
  EXPECT_TRUE(book.check(secret).ok());
}

TEST_F(TokenBookTest, ARestoredBackupIsReadAnew) {
  TokenBook book = open();
  const std::string first = make(book, Role::admin, "first");
  const std::string backup = content();
  const std::string second = make(book, Role::admin, "second");
  const fs::path copy = folder_.path() / "copy";
  std::ofstream(copy) << backup;
  fs::permissions(copy, fs::perms::owner_read | fs::perms::owner_write);
  fs::rename(copy, file_);
  EXPECT_TRUE(book.check(first).ok());
  EXPECT_EQ(kind_of(book.check(second)), ErrorKind::denied);
}

TEST_F(TokenBookTest, ALongerFileInItsPlaceIsReadAnewToo) {
  TokenBook book = open();
  const std::string first = make(book, Role::admin, "first");
  const fs::path ours = file_;
  file_ = folder_.path() / "other";
  TokenBook other = open();
  const std::string second = make(other, Role::admin, "second");
  make(other, Role::admin, "third");
  fs::rename(file_, ours);
  EXPECT_EQ(kind_of(book.check(first)), ErrorKind::denied);
  EXPECT_TRUE(book.check(second).ok());
}

TEST_F(TokenBookTest, AMissingFileLetsNobodyInAndTheNextOneIsPrivate) {
  TokenBook book = open();
  const std::string secret = make(book, Role::admin, "first");
  fs::remove(file_);
  EXPECT_EQ(kind_of(book.check(secret)), ErrorKind::missing_file);
  EXPECT_TRUE(book.check(make(book, Role::admin, "second")).ok());
  EXPECT_EQ(kind_of(book.check(secret)), ErrorKind::denied);
}

TEST_F(TokenBookTest, TwoBooksAppendAtOnceWithoutLosingAnything) {
  constexpr int kEach = 40;
  TokenBook first = open();
  TokenBook second = open();
  const std::string secret = make(first, Role::agent, "rack1");
  std::atomic<int> failed = 0;
  const auto join_all = [&](TokenBook& book, const std::string& prefix) {
    for (int i = 0; i < kEach; ++i) {
      if (!book.join(secret, prefix + std::to_string(i), key_).ok()) ++failed;
      if (!book.check_node(prefix + std::to_string(i), key_).ok()) ++failed;
    }
  };
  {
    std::jthread a(join_all, std::ref(first), "a");
    std::jthread b(join_all, std::ref(second), "b");
    std::jthread c(join_all, std::ref(second), "c");
  }
  EXPECT_EQ(failed, 0);
  TokenBook third = open();
  EXPECT_THAT(third.nodes(), SizeIs(3 * kEach));
  EXPECT_EQ(first.nodes(), third.nodes());
  EXPECT_EQ(second.nodes(), third.nodes());
}

TEST_F(TokenBookTest, OfTwoKeysForOneNodeAtOnceExactlyOneWins) {
  TokenBook first = open();
  TokenBook second = open();
  const std::string secret = make(first, Role::agent, "rack1");
  for (int round = 0; round < 10; ++round) {
    const std::string node = "gpu" + std::to_string(round);
    std::atomic<int> joined = 0;
    const auto join = [&](TokenBook& book) { joined += book.join(secret, node, new_secret()).ok() ? 1 : 0; };
    {
      std::jthread a(join, std::ref(first));
      std::jthread b(join, std::ref(second));
    }
    EXPECT_EQ(joined, 1);
  }
}

TEST_F(TokenBookTest, AJoinTokenLetsInOnlyWhomItIsFor) {
  TokenBook book = open();
  const auto token = book.create(Role::agent, "", std::nullopt, {.nodes = "gpu0[1-8],login*", .most_nodes = 2}).value();
  EXPECT_EQ(kind_of(book.join(token.secret, "gpu09", new_secret())), ErrorKind::denied);
  EXPECT_TRUE(book.join(token.secret, "gpu01", key_).ok());
  EXPECT_TRUE(book.join(token.secret, "gpu01", key_).ok()) << "again with the same key takes no place";
  EXPECT_TRUE(book.join(token.secret, "login-a", new_secret()).ok());
  const auto third = book.join(token.secret, "gpu02", new_secret());
  EXPECT_EQ(kind_of(third), ErrorKind::denied);
  EXPECT_THAT(third.error().text(), HasSubstr("as many nodes as it may: 2"));
  TokenBook again = open();
  EXPECT_EQ(kind_of(again.join(token.secret, "gpu02", new_secret())), ErrorKind::denied) << "after a restart, too";
  EXPECT_EQ(again.tokens().at(0).nodes_let_in, 2);
  EXPECT_EQ(again.tokens().at(0).terms.nodes, "gpu0[1-8],login*");
}

TEST_F(TokenBookTest, TermsMustMakeSense) {
  TokenBook book = open();
  for (const auto& terms : {JoinTerms{.nodes = "gpu 1"}, JoinTerms{.nodes = "gpu1,"}, JoinTerms{.most_nodes = 0},
                            JoinTerms{.nodes = std::string(300, 'a')}}) {
    EXPECT_EQ(kind_of(book.create(Role::agent, "", std::nullopt, terms)), ErrorKind::usage);
  }
  EXPECT_EQ(kind_of(book.create(Role::viewer, "", std::nullopt, {.needs_approval = true})), ErrorKind::usage);
}

TEST_F(TokenBookTest, ANodeWaitsUntilItIsApproved) {
  TokenBook book = open();
  const auto token = book.create(Role::agent, "", std::nullopt, {.needs_approval = true}).value();
  EXPECT_EQ(book.join(token.secret, "gpu01", key_).value(), TokenBook::Joined::waits);
  EXPECT_EQ(book.join(token.secret, "gpu01", key_).value(), TokenBook::Joined::waits);
  EXPECT_EQ(kind_of(book.check_node("gpu01", key_)), ErrorKind::denied);
  EXPECT_EQ(kind_of(book.approve("gpu02")), ErrorKind::not_found);
  ASSERT_TRUE(book.approve("gpu01").ok());
  EXPECT_TRUE(book.approve("gpu01").ok()) << "twice is fine";
  EXPECT_TRUE(open().check_node("gpu01", key_).ok());
  EXPECT_EQ(book.join(token.secret, "gpu01", key_).value(), TokenBook::Joined::yes);
}

TEST_F(TokenBookTest, ALeakedJoinTokenTakesItsNodesWithIt) {
  TokenBook book = open();
  const auto honest = make(book, Role::agent, "honest");
  const auto leaked = make(book, Role::agent, "leaked");
  ASSERT_TRUE(book.join(honest, "gpu01", key_).ok());
  std::vector<std::string> keys;
  for (int i = 0; i < 100; ++i) {
    keys.push_back(new_secret());
    ASSERT_TRUE(book.join(leaked, "made-up-" + std::to_string(i), keys.back()).ok());
  }
  ASSERT_TRUE(book.revoke("leaked").ok());
  EXPECT_TRUE(book.check_node("made-up-7", keys[7]).ok()) << "revoking a token alone lets nodes stay";
  ASSERT_TRUE(book.revoke("leaked", true).ok());
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(kind_of(book.check_node("made-up-" + std::to_string(i), keys[static_cast<std::size_t>(i)])),
              ErrorKind::denied);
  }
  EXPECT_TRUE(book.check_node("gpu01", key_).ok());
  EXPECT_EQ(kind_of(book.join(honest, "made-up-7", new_secret())), ErrorKind::denied) << "made before the revocation";
  const auto fresh = make(book, Role::agent, "fresh");
  EXPECT_TRUE(book.join(fresh, "made-up-7", new_secret()).ok()) << "its name is free for who has a new token";
  EXPECT_TRUE(open().check_node("gpu01", key_).ok());
}

}  // namespace
}  // namespace assay
