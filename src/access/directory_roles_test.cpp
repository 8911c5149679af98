#include "access/directory_roles.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace assay {
namespace {

using testing::HasSubstr;

GroupRole group_role(std::string_view text) { return parse_group_role(text).value(); }

std::optional<Role> role_by(const std::vector<std::string>& groups, const std::vector<std::string>& rules) {
  std::vector<GroupRole> read;
  for (const std::string& rule : rules) read.push_back(group_role(rule));
  return role_of_groups(groups, read);
}

TEST(DirectoryRoles, ARuleIsAGroupAndARole) {
  EXPECT_EQ(group_role("gpu-admins=admin"), (GroupRole{"gpu-admins", Role::admin}));
  EXPECT_EQ(group_role(" GPU users = user "), (GroupRole{"GPU users", Role::user}));
  EXPECT_EQ(group_role("cn=a,dc=x=viewer"), (GroupRole{"cn=a,dc=x", Role::viewer}));
  EXPECT_EQ(group_role("*=viewer"), (GroupRole{"*", Role::viewer}));
}

TEST(DirectoryRoles, WhatIsNoRuleIsRefusedWithTheRule) {
  EXPECT_THAT(parse_group_role("admins").error().message, HasSubstr("gives no role"));
  EXPECT_THAT(parse_group_role("admins=root").error().message, HasSubstr("'root' is no role"));
  EXPECT_THAT(parse_group_role("nodes=agent").error().message, HasSubstr("'agent' is no role that a person can have"));
  EXPECT_THAT(parse_group_role("=admin").error().message, HasSubstr("names no group"));
  EXPECT_THAT(parse_group_role("cn=,dc=x=admin").error().message, HasSubstr("nor a DN"));
  EXPECT_EQ(parse_group_role("x").error().kind, ErrorKind::usage);
  EXPECT_THAT(parse_group_role("x").error().hint, HasSubstr("GROUP=ROLE"));
}

TEST(DirectoryRoles, TheGreatestRoleCounts) {
  const std::vector<std::string> rules = {"admins=admin", "users=user", "*=viewer"};
  EXPECT_EQ(role_by({"cn=users,dc=x", "cn=admins,dc=x"}, rules), Role::admin);
  EXPECT_EQ(role_by({"cn=users,dc=x"}, rules), Role::user);
  EXPECT_EQ(role_by({"cn=others,dc=x"}, rules), Role::viewer);
  EXPECT_EQ(role_by({}, rules), Role::viewer);
  EXPECT_EQ(role_by({"cn=others,dc=x"}, {"admins=admin"}), std::nullopt);
  EXPECT_EQ(role_by({"cn=a,dc=x"}, {}), std::nullopt);
}

TEST(DirectoryRoles, ANameFitsTheBeginningOfADnAndNothingElse) {
  EXPECT_EQ(role_by({"CN=GPU Admins,OU=Groups,DC=x"}, {"gpu admins=admin"}), Role::admin);
  EXPECT_EQ(role_by({"cn=students,ou=admins,dc=x"}, {"admins=admin"}), std::nullopt);
  EXPECT_EQ(role_by({"cn=not admins,dc=x"}, {"admins=admin"}), std::nullopt);
  EXPECT_EQ(role_by({"cn=x\\,admins,dc=x"}, {"admins=admin"}), std::nullopt);
  EXPECT_EQ(role_by({"admins"}, {"admins=admin"}), Role::admin) << "a bare name";
  EXPECT_EQ(role_by({"cn=*,dc=x"}, {"admins=admin"}), std::nullopt) << "no pattern comes from the directory";
}

TEST(DirectoryRoles, ADnFitsThatGroupAlone) {
  const std::vector<std::string> rules = {"cn=admins, ou=Groups, dc=example=admin"};
  EXPECT_EQ(role_by({"CN=Admins,OU=groups,DC=example"}, rules), Role::admin);
  EXPECT_EQ(role_by({"cn=admins,ou=students,dc=example"}, rules), std::nullopt);
  EXPECT_EQ(role_by({"cn=admins,ou=groups,dc=example,dc=org"}, rules), std::nullopt);
  EXPECT_EQ(role_by({"admins"}, rules), std::nullopt);
}

TEST(DirectoryRoles, ADnHasOneNormalForm) {
  EXPECT_EQ(normal_dn("CN = Ada \\2c Countess , DC=X"), "cn=ada \\, countess,dc=x");
  EXPECT_EQ(normal_dn("cn=ada \\, countess,dc=x"), "cn=ada \\, countess,dc=x");
  EXPECT_EQ(normal_dn("sn=b+cn=a,dc=x"), normal_dn("CN=a + SN=b,dc=x"));
  EXPECT_EQ(normal_dn("cn=\\#a\\ ,dc=x"), "cn=\\#a\\ ,dc=x");
  EXPECT_EQ(normal_dn("cn=a=b"), "cn=a\\=b");
  EXPECT_EQ(normal_dn("2.5.4.3=J\xc3\xbcrgen"), "2.5.4.3=j\xc3\xbcrgen");
  EXPECT_EQ(first_name_of_dn("CN=GPU\\2BCPU,dc=x"), "GPU+CPU");
}

TEST(DirectoryRoles, WhatIsNoDnIsNone) {
  for (const std::string_view text : {"", "admins", "cn=", "=a", "cn=a,", "cn=a,b", "c n=a", "cn=a\\", "cn=a\\4",
                                      "cn=a\\x", "cn=\"a\"", "cn=a;dc=x", "cn=#0401", "cn=a,,dc=x", "cn=a+"}) {
    EXPECT_EQ(normal_dn(text), std::nullopt) << text;
    EXPECT_EQ(first_name_of_dn(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace assay
