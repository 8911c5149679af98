#include "bytes/base64.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

TEST(Base64, IsWhatTheStandardShows) {
  const std::pair<std::string_view, std::string_view> examples[] = {{"", ""},
                                                                    {"f", "Zg=="},
                                                                    {"fo", "Zm8="},
                                                                    {"foo", "Zm9v"},
                                                                    {"foob", "Zm9vYg=="},
                                                                    {"fooba", "Zm9vYmE="},
                                                                    {"foobar", "Zm9vYmFy"}};
  for (const auto& [bytes, text] : examples) {
    EXPECT_EQ(to_base64(bytes), text);
    EXPECT_EQ(from_base64(text), bytes);
  }
}

TEST(Base64, EveryByteComesBack) {
  std::string bytes;
  for (int i = 0; i < 1000; ++i) {
    bytes += static_cast<char>(i * 7);
    EXPECT_EQ(from_base64(to_base64(bytes)), bytes);
  }
}

TEST(Base64, LineEndsArePassedOver) { EXPECT_EQ(from_base64("Zm9v\nYmFy\r\n"), "foobar"); }

TEST(Base64, WhatIsNoneIsRefused) {
  for (const std::string_view text : {"Z", "Zg", "Zg=", "Zg===", "Zm9v=", "Z=g=", "Zm9*", "=", "Zm9vYg==Zm9v"}) {
    EXPECT_EQ(from_base64(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace assay
