#include "net/request_parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "net/input_buffer.h"

namespace assay {
namespace {

using testing::HasSubstr;

struct Parsed {
  HttpRequest request;
  std::optional<Refusal> refusal;
  bool complete = false;
  std::size_t left_over = 0;
};

/// Feeds the text in pieces, as a connection would.
Parsed parse(std::string_view text, std::size_t piece = 1000, std::size_t body_limit = 1000) {
  RequestParser parser({.header_bytes = 300, .target_bytes = 60});
  InputBuffer input;
  bool accepted = false;
  while (!text.empty()) {
    const auto part = text.substr(0, piece);
    text.remove_prefix(part.size());
    std::ranges::copy(part, input.prepare(part.size()).begin());
    input.commit(part.size());
    input.consume(parser.take_head(input.view()));
    if (parser.refusal()) break;
    if (!parser.head_complete()) continue;
    if (!std::exchange(accepted, true)) parser.accept_body(body_limit);
    input.consume(parser.take_body(input.view()));
    if (parser.refusal() || parser.complete()) break;
  }
  Parsed result{.refusal = parser.refusal(), .left_over = input.size() + text.size()};
  if (!result.refusal && parser.head_complete()) {
    result.request = parser.take_request();
    result.complete = parser.complete();
    if (result.complete) result.request.body = parser.take_content();
  }
  return result;
}

TEST(RequestParser, ReadsARequestHoweverThePiecesAreCut) {
  const std::string text =
      "POST /a/b?c=1 HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nX-Two:  v \r\nx-two: w\r\n\r\nhelloGET / HTTP/1.1\r\n";
  for (const std::size_t piece : {1UL, 2UL, 3UL, 50UL, 1000UL}) {
    const auto parsed = parse(text, piece);
    ASSERT_FALSE(parsed.refusal) << parsed.refusal->message;
    ASSERT_TRUE(parsed.complete);
    EXPECT_EQ(parsed.request.method, "POST");
    EXPECT_EQ(parsed.request.target, "/a/b?c=1");
    EXPECT_EQ(parsed.request.headers.find("X-TWO"), "v");
    EXPECT_EQ(parsed.request.headers.count("x-two"), 2U);
    EXPECT_EQ(parsed.request.body, "hello");
    EXPECT_EQ(parsed.left_over, 16U) << "the next request must stay untouched";
  }
}

TEST(RequestParser, ReadsChunks) {
  const std::string text =
      "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: Chunked\r\n\r\n"
      "5;ext=1\r\nhello\r\n1\r\n \r\nA\r\n0123456789\r\n0\r\nTrailer: t\r\n\r\nrest";
  for (const std::size_t piece : {1UL, 3UL, 1000UL}) {
    const auto parsed = parse(text, piece);
    ASSERT_FALSE(parsed.refusal) << parsed.refusal->message;
    ASSERT_TRUE(parsed.complete);
    EXPECT_EQ(parsed.request.body, "hello 0123456789");
    EXPECT_FALSE(parsed.request.headers.find("Trailer")) << "a trailer must not become a header";
    EXPECT_EQ(parsed.left_over, 4U);
  }
}

TEST(RequestParser, PassesOverEmptyLinesInFront) {
  EXPECT_TRUE(parse("\r\n\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n", 1).complete);
}

TEST(RequestParser, KnowsOldClients) {
  RequestParser parser({});
  const std::string_view text = "GET / HTTP/1.0\r\n\r\n";
  EXPECT_EQ(parser.take_head(text), text.size());
  EXPECT_TRUE(parser.http_1_0());
  EXPECT_FALSE(parser.keep_alive());
  EXPECT_TRUE(parser.complete());
}

struct Refused {
  const char* why;
  const char* text;
  int status;
};

class RefusedRequests : public testing::TestWithParam<Refused> {};

TEST_P(RefusedRequests, WholeAndByteByByte) {
  for (const std::size_t piece : {1UL, 1000UL}) {
    const auto parsed = parse(GetParam().text, piece, 10);
    ASSERT_TRUE(parsed.refusal) << GetParam().why;
    EXPECT_EQ(parsed.refusal->status, GetParam().status) << GetParam().why << ": " << parsed.refusal->message;
    EXPECT_FALSE(parsed.refusal->message.empty());
  }
}

#define ASSAY_GET "GET / HTTP/1.1\r\nHost: x\r\n"
#define ASSAY_CHUNKED "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"

INSTANTIATE_TEST_SUITE_P(
    Shapes, RefusedRequests,
    testing::Values(
        Refused{"both lengths", ASSAY_GET "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", 400},
        Refused{"both, the other way round", ASSAY_GET "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n", 400},
        Refused{"two equal lengths", ASSAY_GET "Content-Length: 5\r\nContent-Length: 5\r\n\r\n", 400},
        Refused{"two lengths", ASSAY_GET "Content-Length: 5\r\nContent-Length: 6\r\n\r\n", 400},
        Refused{"a list of lengths", ASSAY_GET "Content-Length: 5, 5\r\n\r\n", 400},
        Refused{"a signed length", ASSAY_GET "Content-Length: +5\r\n\r\n", 400},
        Refused{"a huge length", ASSAY_GET "Content-Length: 99999999999999999999999\r\n\r\n", 400},
        Refused{"no length", ASSAY_GET "Content-Length:\r\n\r\n", 400},
        Refused{"two encodings", ASSAY_GET "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n", 400},
        Refused{"another encoding", ASSAY_GET "Transfer-Encoding: gzip, chunked\r\n\r\n", 501},
        Refused{"a hidden encoding",
                ASSAY_GET "Transfer-Encoding: \x0b"
                          "chunked\r\n\r\n",
                400},
        Refused{"chunks in HTTP/1.0", "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", 400},
        Refused{"bare LF", "GET / HTTP/1.1\nHost: x\n\n", 400},
        Refused{"one bare LF", "GET / HTTP/1.1\r\nHost: x\nX: y\r\n\r\n", 400},
        Refused{"bare CR", "GET / HTTP/1.1\r\nHost: x\rX: y\r\n\r\n", 400},
        Refused{"folded line", ASSAY_GET "X: a\r\n b\r\n\r\n", 400},
        Refused{"first line folded", "GET / HTTP/1.1\r\n Host: x\r\n\r\n", 400},
        Refused{"blank before colon", ASSAY_GET "Content-Length : 5\r\n\r\n", 400},
        Refused{"no colon", ASSAY_GET "Nonsense\r\n\r\n", 400}, Refused{"empty name", ASSAY_GET ": x\r\n\r\n", 400},
        Refused{"no host", "GET / HTTP/1.1\r\n\r\n", 400}, Refused{"two hosts", ASSAY_GET "Host: y\r\n\r\n", 400},
        Refused{"two blanks", "GET  / HTTP/1.1\r\nHost: x\r\n\r\n", 400},
        Refused{"no version", "GET /\r\nHost: x\r\n\r\n", 400},
        Refused{"tab for blank", "GET\t/ HTTP/1.1\r\nHost: x\r\n\r\n", 400},
        Refused{"other version", "GET / HTTP/2.0\r\nHost: x\r\n\r\n", 505},
        Refused{"garbage", "\x16\x03\x01\x02\x01\x01\r\n\r\n", 400},
        Refused{"unknown expectation", ASSAY_GET "Expect: wonders\r\n\r\n", 417},
        Refused{"chunk size not hexadecimal", ASSAY_CHUNKED "xyz\r\n", 400},
        Refused{"chunk size negative", ASSAY_CHUNKED "-5\r\nhello\r\n", 400},
        Refused{"chunk size overflow", ASSAY_CHUNKED "fffffffffffffffff\r\n", 400},
        Refused{"chunk with bare LF", ASSAY_CHUNKED "5\nhello\n0\n\n", 400},
        Refused{"chunk longer than its size", ASSAY_CHUNKED "3\r\nhello\r\n0\r\n\r\n", 400},
        Refused{"chunks too large", ASSAY_CHUNKED "6\r\nhello!\r\n6\r\nhello!\r\n0\r\n\r\n", 413},
        Refused{"body too large", ASSAY_GET "Content-Length: 11\r\n\r\nhello world", 413}),
    [](const auto& test) {
      std::string name;
      for (const char* c = test.param.why; *c; ++c) name += std::isalnum(static_cast<unsigned char>(*c)) ? *c : '_';
      return name;
    });

TEST(RequestParser, BoundsHeaderAndTarget) {
  EXPECT_EQ(parse("GET /" + std::string(400, 'a'), 7).refusal->status, 414);
  EXPECT_EQ(parse("GET /" + std::string(80, 'a') + " HTTP/1.1\r\nHost: x\r\n\r\n").refusal->status, 414);
  EXPECT_EQ(parse("GET / HTTP/1.1\r\nX: " + std::string(400, 'a'), 7).refusal->status, 431);
  EXPECT_EQ(parse("GET / HTTP/1.1\r\nX: " + std::string(290, 'a') + "\r\n\r\n").refusal->status, 431);
  EXPECT_EQ(parse("\r\n\r\n\r\n" + std::string(400, '\n'), 7).refusal->status, 400);
}

TEST(RequestParser, BoundsChunkLinesAndTrailers) {
  const std::string head = "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";
  EXPECT_EQ(parse(head + "5;" + std::string(9000, 'a'), 500).refusal->status, 400);
  EXPECT_EQ(parse(head + "0\r\nX: " + std::string(9000, 'a'), 500).refusal->status, 400);
}

TEST(RequestParser, KnowsExpectations) {
  RequestParser parser({});
  parser.take_head("POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-Continue\r\nContent-Length: 3\r\n\r\n");
  EXPECT_TRUE(parser.expects_continue());
  EXPECT_TRUE(parser.has_body());
  EXPECT_FALSE(parser.complete());
}

}  // namespace
}  // namespace assay
