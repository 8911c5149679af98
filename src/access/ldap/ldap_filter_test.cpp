#include "access/ldap/ldap_filter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace assay {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(LdapFilter, ValuesAreEscaped) {
  EXPECT_EQ(escape_filter_value("ada.l-1@example.org"), "ada.l-1@example.org");
  EXPECT_EQ(escape_filter_value("*"), "\\2a");
  EXPECT_EQ(escape_filter_value("a)(uid=*"), "a\\29\\28uid=\\2a");
  EXPECT_EQ(escape_filter_value("a\\2a"), "a\\5c2a");
  EXPECT_EQ(escape_filter_value(std::string_view("\0", 1)), "\\00");
  EXPECT_EQ(escape_filter_value("J\xc3\xbc\xff\n"), "J\\c3\\bc\\ff\\0a");
}

TEST(LdapFilter, EveryByteBehindItsEscapeIsHarmless) {
  for (int byte = 0; byte < 256; ++byte) {
    const std::string escaped = escape_filter_value(std::string(1, static_cast<char>(byte)));
    EXPECT_TRUE(escaped.size() == 1 || (escaped.size() == 3 && escaped[0] == '\\')) << byte;
    EXPECT_EQ(escaped.find_first_of("*()"), std::string::npos) << byte;
  }
}

TEST(LdapFilter, PlacesAreFilledOnce) {
  EXPECT_EQ(fill_filter("(|(member={dn})(memberUid={user}))", {.user = "ada", .dn = "uid=ada,dc=x"}),
            "(|(member=uid=ada,dc=x)(memberUid=ada))");
  EXPECT_EQ(fill_filter("(|(uid={user})(mail={user}))", {.user = "a*"}), "(|(uid=a\\2a)(mail=a\\2a))");
  EXPECT_EQ(fill_filter("(|(uid={user})(x={dn}))", {.user = "{dn}", .dn = "cn=b"}), "(|(uid={dn})(x=cn=b))");
}

TEST(LdapFilter, TellsByWhichAttributesUsersAreKnown) {
  EXPECT_THAT(user_attributes("(uid={user})"), ElementsAre("uid"));
  EXPECT_THAT(user_attributes("(&(objectClass=user)(|(sAMAccountName={user})(mail={user})(mail={user})))"),
              ElementsAre("sAMAccountName", "mail"));
  EXPECT_THAT(user_attributes("(mail={user}@example.org)"), IsEmpty());
  EXPECT_THAT(user_attributes("(cn:caseExactMatch:={user})"), IsEmpty());
}

}  // namespace
}  // namespace assay
