#include "access/ldap_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace assay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

LdapSettings good_settings() {
  LdapSettings settings;
  settings.url = "ldaps://ldap.example.org";
  settings.user_base = "ou=people,dc=example";
  settings.roles = {{"admins", Role::admin}};
  return settings;
}

std::vector<std::string> messages(const LdapSettings& settings) {
  std::vector<std::string> texts;
  for (const LdapMistake& mistake : mistakes_between(settings)) texts.push_back(mistake.message);
  return texts;
}

TEST(LdapSettings, AUrlIsSchemeHostAndPort) {
  EXPECT_EQ(parse_ldap_url("ldaps://ldap.example.org").value(), (LdapUrl{true, "ldap.example.org", 636}));
  EXPECT_EQ(parse_ldap_url("ldap://ldap.example.org/").value(), (LdapUrl{false, "ldap.example.org", 389}));
  EXPECT_EQ(parse_ldap_url("ldap://127.0.0.1:1389").value(), (LdapUrl{false, "127.0.0.1", 1389}));
  EXPECT_EQ(parse_ldap_url("ldaps://[::1]:1636").value(), (LdapUrl{true, "::1", 1636}));
  EXPECT_EQ(parse_ldap_url("ldaps://[::1]")->text(), "ldaps://[::1]:636");
  EXPECT_EQ(parse_ldap_url("ldap://a")->text(), "ldap://a:389");
}

TEST(LdapSettings, WhatIsNoUrlIsRefused) {
  for (const std::string_view text :
       {"", "ldap.example.org", "http://a", "ldapi:///", "ldap://", "ldap:///dc=x", "ldap://a/dc=x", "ldap://a?x",
        "ldap://u:p@a", "ldap://a:0", "ldap://a:65536", "ldap://a:", "ldap://a:1x", "ldap://[::1", "ldap://[::1]x",
        "ldap://a b", "ldap://a ldap://b", "ldap://a,b", "ldap://a//"}) {
    const auto url = parse_ldap_url(text);
    ASSERT_FALSE(url.ok()) << text;
    EXPECT_EQ(url.error().kind, ErrorKind::usage);
    EXPECT_THAT(url.error().hint, HasSubstr("ldaps://host"));
  }
}

TEST(LdapSettings, FiltersHaveAPlaceForTheUser) {
  for (const std::string_view text :
       {"(uid={user})", "(&(objectClass=person)(|(uid={user})(mail={user})))", "(mail={user}@example.org)"}) {
    EXPECT_TRUE(parse_user_filter(text).ok()) << text;
  }
  EXPECT_TRUE(parse_group_filter("(|(member={dn})(memberUid={user}))").ok());
  EXPECT_TRUE(parse_group_filter("(member:1.2.840.113556.1.4.1941:={dn})").ok());
  for (const std::string_view text :
       {"", "uid={user}", "(uid={user}", "(uid={user}))", "(uid={user})(cn=a)", "(uid={user", "(uid=user})",
        "(uid={name})", "(member={dn})", "(uid=ada)", "(uid={{user}})", "({user}=x)", "(&{user}(cn=a))"}) {
    EXPECT_FALSE(parse_user_filter(text).ok()) << text;
  }
  EXPECT_THAT(parse_user_filter("(uid={name})").error().message, HasSubstr("has a '{name}', and there is only {user}"));
  EXPECT_THAT(parse_group_filter("(cn=a)").error().message, HasSubstr("the same for everybody"));
}

TEST(LdapSettings, PasswordsDoNotTravelInTheClear) {
  auto settings = good_settings();
  EXPECT_THAT(messages(settings), IsEmpty());
  settings.url = "ldap://ldap.example.org";
  EXPECT_THAT(messages(settings), ElementsAre(HasSubstr("passwords would travel in the clear")));
  settings.start_tls = true;
  EXPECT_THAT(messages(settings), IsEmpty());
  settings.url = "ldaps://ldap.example.org";
  EXPECT_THAT(messages(settings), ElementsAre(HasSubstr("'ldaps://' speaks TLS")));
  settings.start_tls = false;
  for (const char* url : {"ldap://127.0.0.1", "ldap://localhost:1389", "ldap://[::1]"}) {
    settings.url = url;
    EXPECT_THAT(messages(settings), IsEmpty()) << url;
  }
  settings.url = "ldap://127.example.org";
  EXPECT_THAT(messages(settings), testing::SizeIs(1));
}

TEST(LdapSettings, SaysWhatIsMissing) {
  EXPECT_THAT(messages({}), IsEmpty()) << "no directory is fine";
  auto settings = good_settings();
  settings.url.clear();
  EXPECT_THAT(messages(settings),
              ElementsAre(HasSubstr("'ldap.user_base' is of a directory, and there is no 'ldap.url'")));
  settings = good_settings();
  settings.user_base.clear();
  settings.roles.clear();
  settings.bind_dn = "cn=reader,dc=example";
  EXPECT_THAT(messages(settings), ElementsAre(HasSubstr("belong together"), HasSubstr("Add 'user_base'"),
                                              HasSubstr("nobody in the directory has a role")));
}

}  // namespace
}  // namespace assay
