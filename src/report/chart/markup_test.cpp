#include <gmock/gmock.h>

#include "report/chart/markup_fixture.h"

namespace assay {
namespace {

TEST(MarkupCheck, AcceptsWhatIsWellFormed) {
  EXPECT_EQ(problem_in_markup("<a b=\"1 &amp; 2\"><c/>text &lt;</a>\n", Markup::xml), std::nullopt);
  EXPECT_EQ(problem_in_markup("<!doctype html>\n<html><meta charset=\"utf-8\"></html>\n", Markup::html), std::nullopt);
}

TEST(MarkupCheck, RejectsWhatIsNot) {
  for (const char* broken : {"<a>", "<a></b>", "<a b=1/>", "<a b=\"1\" b=\"2\"/>", "<a>&nbsp;</a>", "<a>&</a>",
                             "<a> < </a>", "<a/><b/>", "<a>\x01</a>", "<a b=\"<\"/>", "text", "<a>></a>"})
    EXPECT_NE(problem_in_markup(broken, Markup::xml), std::nullopt) << broken;
}

}  // namespace
}  // namespace assay
