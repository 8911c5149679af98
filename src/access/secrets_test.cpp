#include "access/secrets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

namespace assay {
namespace {

using testing::HasSubstr;
using testing::Not;

unsigned mode_of(const fs::path& path) {
  struct stat info{};
  EXPECT_EQ(::stat(path.c_str(), &info), 0);
  return info.st_mode & 0777U;
}

TEST(Secrets, AreMarkedAndNeverTheSame) {
  const std::string first = new_secret();
  EXPECT_TRUE(is_secret(first)) << first;
  EXPECT_TRUE(first.starts_with("assay_"));
  EXPECT_TRUE(is_secret(first.substr(6))) << "as they were made once";
  EXPECT_NE(first, new_secret());
  EXPECT_FALSE(is_secret(first.substr(1)));
  EXPECT_FALSE(is_secret(first + "0"));
  EXPECT_FALSE(is_secret(first.substr(1) + "g"));
}

TEST(Secrets, HashIsSha256) {
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256_hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

TEST(Secrets, CompareByContentAndLength) {
  EXPECT_TRUE(equal_in_constant_time("abc", "abc"));
  EXPECT_FALSE(equal_in_constant_time("abc", "abd"));
  EXPECT_FALSE(equal_in_constant_time("abc", "ab"));
  EXPECT_TRUE(equal_in_constant_time("", ""));
}

TEST(JoinTokens, ComeBackAsTheyWereWritten) {
  const std::string secret = new_secret();
  const std::string fingerprint = "sha256:" + sha256_hex("certificate");
  EXPECT_EQ(join_token_text(secret, fingerprint), "assay-join:" + secret + "@" + fingerprint);
  const auto with = parse_join_token("  assay-join:" + secret + "@" + fingerprint + "\n");
  ASSERT_TRUE(with.ok());
  EXPECT_EQ(*with, (JoinToken{secret, fingerprint}));
  const auto without = parse_join_token(join_token_text(secret, std::nullopt));
  ASSERT_TRUE(without.ok());
  EXPECT_EQ(*without, (JoinToken{secret, std::nullopt}));
}

TEST(JoinTokens, RefuseWhatIsNoneWithoutRepeatingIt) {
  const std::string secret = new_secret();
  for (const std::string& text : {
           std::string(),
           secret,
           std::string("assay-join:"),
           "assay-join:" + secret.substr(1),
           "assay-join:" + secret + "@",
           "assay-join:" + secret + "@sha256:12",
           "assay-join:" + secret + "@" + sha256_hex("x"),
           join_token_text(secret, std::nullopt) + " x",
       }) {
    const auto token = parse_join_token(text);
    ASSERT_FALSE(token.ok()) << text;
    EXPECT_EQ(token.error().kind, ErrorKind::usage);
    EXPECT_THAT(token.error().text(), Not(HasSubstr(secret.substr(1)))) << text;
  }
}

class SecretFiles : public testing::Test {
 protected:
  void write(std::string_view text, fs::perms mode = fs::perms::owner_read | fs::perms::owner_write) {
    std::ofstream(file_) << text;
    fs::permissions(file_, mode);
  }
  TemporaryFolder folder_;
  fs::path file_ = folder_.path() / "secret";
};

TEST_F(SecretFiles, AreWrittenForTheOwnerAloneAndReadBackTrimmed) {
  ASSERT_TRUE(write_secret_file(file_, "abc").ok());
  EXPECT_EQ(mode_of(file_), 0600U);
  EXPECT_EQ(*read_file(file_), "abc\n");
  EXPECT_EQ(*read_secret_file(file_), "abc");
}

TEST_F(SecretFiles, AreNotOverwritten) {
  ASSERT_TRUE(write_secret_file(file_, "first").ok());
  const auto again = write_secret_file(file_, "second");
  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.error().kind, ErrorKind::usage);
  EXPECT_EQ(*read_secret_file(file_), "first");
}

TEST_F(SecretFiles, ThatOthersCanReadAreRefusedWithTheRemedy) {
  for (const auto more : {fs::perms::group_read, fs::perms::others_read, fs::perms::group_write}) {
    write("abc", fs::perms::owner_read | more);
    const auto read = read_secret_file(file_);
    ASSERT_FALSE(read.ok());
    EXPECT_EQ(read.error().kind, ErrorKind::denied);
    EXPECT_THAT(read.error().hint, HasSubstr("chmod 600 '" + file_.string() + "'"));
    fs::remove(file_);
  }
}

TEST_F(SecretFiles, ThatAreEmptyMissingOrHugeAreRefused) {
  EXPECT_EQ(read_secret_file(file_).error().kind, ErrorKind::missing_file);
  write(" \n\t\n");
  EXPECT_EQ(read_secret_file(file_).error().kind, ErrorKind::bad_file);
  write(std::string(4097, 'x'));
  EXPECT_EQ(read_secret_file(file_).error().kind, ErrorKind::bad_file);
  write(std::string(4096, 'x'));
  EXPECT_TRUE(read_secret_file(file_).ok());
}

}  // namespace
}  // namespace assay
