#include "report/text/plain_text.h"

#include <gmock/gmock.h>

#include "base/text.h"
#include "report/text/hostile_text_fixture.h"

namespace assay {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(CleanText, KeepsNewlinesAndDropsWhatMovesTheReader) {
  EXPECT_EQ(clean_text("a\tb\nc"), "a b\nc");
  EXPECT_EQ(clean_text("\x1b[31mred\x1b[0m \xE2\x80\xAEx\xE2\x81\xA6y"), "red xy");
  EXPECT_EQ(clean_text("\xff ok \xEF\xBF\xBF"), "\xEF\xBF\xBD ok \xEF\xBF\xBD");
  EXPECT_EQ(clean_text("größer שלום"), "größer שלום");
}

TEST(CleanLine, IsOneLine) {
  EXPECT_EQ(clean_line("  a \r\n\n b\t "), "a b");
  EXPECT_EQ(clean_line(" \n"), "");
}

TEST(EscapeXml, LeavesNoMarkup) {
  EXPECT_EQ(escape_xml("<a href=\"x\">'&'"), "&lt;a href=&quot;x&quot;&gt;&#39;&amp;&#39;");
  EXPECT_EQ(escape_xml(hostile_text()).find('<'), std::string::npos);
}

TEST(WrapText, BreaksAtBlanksByDisplayWidth) {
  EXPECT_THAT(wrap_text("one two three", 7), ElementsAre("one two", "three"));
  EXPECT_THAT(wrap_text("größe größe", 11), ElementsAre("größe größe"));
  EXPECT_THAT(wrap_text("first\nsecond", 40), ElementsAre("first", "second"));
  EXPECT_THAT(wrap_text(" \n ", 40), IsEmpty());
}

TEST(WrapText, CutsWordsThatAreWiderThanALine) {
  EXPECT_THAT(wrap_text("a abcdefgh", 3), ElementsAre("a", "abc", "def", "gh"));
  EXPECT_THAT(wrap_text("日本語", 4), ElementsAre("日本", "語"));
  for (const auto& line : wrap_text(hostile_text(), 20)) EXPECT_LE(display_width(line), 20U) << line;
}

TEST(InAscii, SaysItInOtherWords) {
  EXPECT_EQ(in_ascii("±2 % → 3× µs…"), "+-2 % -> 3x us...");
  EXPECT_EQ(in_ascii("語x"), "??x");
}

}  // namespace
}  // namespace assay
