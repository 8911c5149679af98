#include "base/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

namespace assay {
namespace {

using testing::ElementsAre;
using testing::Optional;

TEST(Text, TrimTakesBlanksOffBothEndsOnly) {
  EXPECT_EQ(trim("  a b\t\r\n"), "a b");
  EXPECT_EQ(trim("ab"), "ab");
  EXPECT_EQ(trim(" \n "), "");
  EXPECT_EQ(trim(""), "");
}

TEST(Text, SplitKeepsEmptyParts) {
  EXPECT_THAT(split("a,b,,c,", ','), ElementsAre("a", "b", "", "c", ""));
  EXPECT_THAT(split("abc", ','), ElementsAre("abc"));
  EXPECT_THAT(split("", ','), ElementsAre(""));
}

TEST(Text, JoinPutsTheSeparatorBetween) {
  EXPECT_EQ(join(std::vector<std::string>{"a", "", "c"}, ", "), "a, , c");
  EXPECT_EQ(join(std::set<std::string_view>{"b", "a"}, " | "), "a | b");
  EXPECT_EQ(join(std::vector<std::string>{}, ", "), "");
}

TEST(Text, LowerCaseLeavesOtherAlphabetsAlone) { EXPECT_EQ(lower_case("GPUh Ä_9"), "gpuh Ä_9"); }

TEST(Nearest, FindsTypos) {
  const std::vector<std::string> keys = {"target_qps", "batch_size", "epochs", "steps", "seq_length", "rank"};
  EXPECT_THAT(nearest("target_qsp", keys), Optional(std::string("target_qps")));  // a swap is one edit
  EXPECT_THAT(nearest("batchsize", keys), Optional(std::string("batch_size")));
  EXPECT_THAT(nearest("batch-size", keys), Optional(std::string("batch_size")));
  EXPECT_THAT(nearest("epoch", keys), Optional(std::string("epochs")));
  EXPECT_THAT(nearest("sequence_length", keys), Optional(std::string("seq_length")));
  EXPECT_THAT(nearest("BATCH_SIZE", keys), Optional(std::string("batch_size")));
  EXPECT_THAT(nearest("rnak", keys), Optional(std::string("rank")));
}

TEST(Nearest, SaysNothingWhenNothingIsNear) {
  const std::vector<std::string> keys = {"target_qps", "batch_size", "lr"};
  EXPECT_EQ(nearest("colour", keys), std::nullopt);
  EXPECT_EQ(nearest("", keys), std::nullopt);
  EXPECT_EQ(nearest("rl", keys), std::nullopt);  // one edit is half of this word
  EXPECT_EQ(nearest("batch_size", {}), std::nullopt);
  EXPECT_EQ(nearest("abcdef", std::vector<std::string>{"abcxyz"}), std::nullopt);  // 3 of 6
  EXPECT_EQ(nearest("abcdef", std::vector<std::string>{"abcdxy"}), "abcdxy");      // 2 of 6
}

TEST(Nearest, KnowsAbbreviations) {
  const std::vector<std::string> keys = {"learning_rate", "batch_size", "optimizer", "epochs", "seq_length", "seed"};
  EXPECT_EQ(nearest("lr", keys), "learning_rate");
  EXPECT_EQ(nearest("bs", keys), "batch_size");
  EXPECT_EQ(nearest("optim", keys), "optimizer");
  EXPECT_EQ(nearest("learning", keys), "learning_rate");
  EXPECT_EQ(nearest("se", keys), std::nullopt) << "two letters begin too many words";
  EXPECT_EQ(nearest("gpu", std::vector<std::string>{"gpu_memory", "gpu_util"}), std::nullopt) << "it could be both";
}

TEST(Nearest, CaseDecidesBetweenEqualsAndNeverLosesToAnEdit) {
  EXPECT_EQ(nearest("gib", std::vector<std::string>{"GB", "KiB", "GiB"}), "GiB");
  EXPECT_EQ(nearest("Gb", std::vector<std::string>{"GB"}), "GB");
  EXPECT_EQ(nearest("mode", std::vector<std::string>{"MODE", "Mode", "mode"}), "mode");
  EXPECT_EQ(nearest("modx", std::vector<std::string>{"mods", "mode"}), "mods");  // the first of true equals
}

TEST(DisplayWidth, CountsColumnsNotBytes) {
  EXPECT_EQ(display_width("abc"), 3u);
  EXPECT_EQ(display_width("870 µs"), 6u);
  EXPECT_EQ(display_width("e\u0301"), 1u);  // e + combining acute
  EXPECT_EQ(display_width("日本"), 4u);
  EXPECT_EQ(display_width("\U0001F680"), 2u);
  EXPECT_EQ(display_width("█▏"), 2u);
  EXPECT_EQ(display_width(""), 0u);
  EXPECT_EQ(display_width("\xff\xfe"), 2u);  // shown as two replacement characters
}

TEST(Printable, KeepsTextTabsAndNewlines) {
  EXPECT_EQ(printable("loss=0.12\tµ 日本 \U0001F680\n"), "loss=0.12\tµ 日本 \U0001F680\n");
  EXPECT_EQ(printable(""), "");
}

TEST(Printable, DropsControlCharacters) {
  EXPECT_EQ(printable("10%\r20%\b\a\x7f"), "10%20%");
  EXPECT_EQ(printable(std::string_view("a\0b", 3)), "ab");
  EXPECT_EQ(printable("a\u202Egpu01\u202C\u2066b\u2069\u200F\u2028c"), "agpu01bc");  // directions, line ends
  EXPECT_EQ(printable("a\xc2\x85z"), "az");  // U+0085, a control character above ASCII
}

TEST(Printable, DropsEscapeSequencesWhole) {
  EXPECT_EQ(printable("\x1b[1;31mred\x1b[0m"), "red");
  EXPECT_EQ(printable("\x1b[2J\x1b[Htop"), "top");
  EXPECT_EQ(printable("\x1b]0;title\atext"), "text");
  EXPECT_EQ(printable("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\"), "link");
  EXPECT_EQ(printable("\x1bP1$r0m\x1b\\after"), "after");
  EXPECT_EQ(printable("\x1b(Bplain"), "plain");
  EXPECT_EQ(printable("\x1b"
                      "7saved"),
            "saved");
  EXPECT_EQ(printable("\xc2\x9b"
                      "31mred"),
            "red");  // the one-character form of ESC [
  EXPECT_EQ(printable("\xc2\x9d"
                      "0;t\xc2\x9ctext"),
            "text");  // … and of ESC ] and ESC backslash
}

TEST(Printable, AnUnfinishedSequenceTakesItsLineAtMost) {
  EXPECT_EQ(printable("a\x1b"), "a");
  EXPECT_EQ(printable("a\x1b[31"), "a");
  EXPECT_EQ(printable("a\x1b[31\nb"), "a\nb");
  EXPECT_EQ(printable("a\x1b]0;no end\nb"), "a\nb");
  EXPECT_EQ(printable("\x1b\x1b[31mred"), "red");
  EXPECT_EQ(printable("a\x1b[3\xc3\xa4z"), "a\xc3\xa4z");  // ä cannot be part of it
}

TEST(Printable, InvalidUtf8BecomesReplacementCharacters) {
  EXPECT_EQ(printable("a\xff"
                      "b"),
            "a\uFFFDb");
  EXPECT_EQ(printable("\xc0\xaf"), "\uFFFD\uFFFD");                      // overlong slash
  EXPECT_EQ(printable("\xed\xa0\x80"), "\uFFFD\uFFFD\uFFFD");            // surrogate
  EXPECT_EQ(printable("\xf4\x90\x80\x80"), "\uFFFD\uFFFD\uFFFD\uFFFD");  // beyond U+10FFFF
  EXPECT_EQ(printable("\xe6\x97"), "\uFFFD");                            // cut off: one for the longest valid start
  EXPECT_EQ(printable("\xe6\x97x"), "\uFFFDx");
}

}  // namespace
}  // namespace assay
