#include "net/response_head.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace assay {
namespace {

TEST(HttpDate, IsTheOneOfTheStandard) {
  // The example of RFC 9110.
  EXPECT_EQ(http_date(WallTime(std::chrono::seconds(784111777))), "Sun, 06 Nov 1994 08:49:37 GMT");
}

TEST(ResponseHead, FramingIsTheServersBusiness) {
  const HttpResponse response{.status = 201,
                              .headers = {{"Connection", "keep-alive"}, {"transfer-encoding", "x"}, {"A", "b"}}};
  EXPECT_EQ(format_response_head(response, {.keep_alive = false, .length = 3, .date = "now"}),
            "HTTP/1.1 201 Created\r\nDate: now\r\nA: b\r\nContent-Length: 3\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(format_response_head(response, {.chunked = true, .date = "now"}),
            "HTTP/1.1 201 Created\r\nDate: now\r\nA: b\r\nTransfer-Encoding: chunked\r\n\r\n");
}

TEST(ResponseHead, NoFieldBreaksOutOfItsLine) {
  const HttpResponse response{
      .headers = {{"A", "x\r\nEvil: 1"}, {"B\r\nEvil", "1"}, {"", "1"}, {"C:", "1"}, {"D", std::string("a\0b", 3)}}};
  testing::internal::CaptureStderr();
  EXPECT_EQ(format_response_head(response, {.date = "now"}), "HTTP/1.1 200 OK\r\nDate: now\r\n\r\n");
  EXPECT_THAT(testing::internal::GetCapturedStderr(), testing::HasSubstr("'A'"));
}

}  // namespace
}  // namespace assay
