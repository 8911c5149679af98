#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "target/openai/answer_reader.h"

namespace assay {
namespace {

using testing::HasSubstr;

SteadyTime at_ms(int ms) { return SteadyTime(std::chrono::milliseconds(ms)); }

/// Reads bytes in pieces of a given size; each piece comes a millisecond after the last.
AnswerReader::State read_cut(AnswerReader& reader, std::string_view bytes, std::size_t piece, bool then_close = false) {
  reader.begin();
  auto state = AnswerReader::State::more;
  int ms = 1;
  while (!bytes.empty() && state == AnswerReader::State::more) {
    std::string_view part = bytes.substr(0, piece);
    bytes.remove_prefix(part.size());
    state = reader.take(part, at_ms(ms++));
  }
  return state == AnswerReader::State::more && then_close ? reader.finish(at_ms(ms)) : state;
}

std::string chunk(std::string_view data) {
  std::string text = "data: " + std::string(data) + "\n\n";
  std::array<char, 20> size{};
  std::snprintf(size.data(), size.size(), "%zx\r\n", text.size());
  return size.data() + text + "\r\n";
}

const std::string kStreamHead =
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nTransfer-Encoding: chunked\r\n\r\n";
const std::string kUsage =
    R"({"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":5,"prompt_tokens_details":{"cached_tokens":4}}})";

std::string content(std::string_view text) {
  return R"({"id":"x","choices":[{"index":0,"delta":{"content":")" + std::string(text) +
         R"("},"finish_reason":null}]})";
}

std::string good_stream() {
  return kStreamHead + chunk(R"({"choices":[{"delta":{"role":"assistant","content":""}}]})") + chunk(content("one ")) +
         chunk(content("two three ")) + chunk(content("four five")) +
         chunk(R"({"choices":[{"delta":{},"finish_reason":"stop"}]})") + chunk(kUsage) + chunk("[DONE]") + "0\r\n\r\n";
}

TEST(AnswerReader, ReadsAStreamHoweverItIsCut) {
  const std::string stream = good_stream();
  for (const std::size_t piece : {std::size_t{1}, std::size_t{2}, std::size_t{7}, std::size_t{100}, stream.size()}) {
    AnswerReader reader(true, true);
    ASSERT_EQ(read_cut(reader, stream, piece), AnswerReader::State::complete) << piece << reader.problem();
    EXPECT_EQ(reader.text(), "one two three four five");
    EXPECT_EQ(reader.output_tokens(), 5U);
    EXPECT_EQ(reader.input_tokens(), 7U);
    EXPECT_EQ(reader.cached_tokens(), std::optional<std::uint32_t>(4));
    EXPECT_TRUE(reader.counted());
    EXPECT_EQ(reader.finish_reason(), FinishReason::stop);
    EXPECT_TRUE(reader.keep_alive());
    std::uint32_t tokens = 0;
    for (const auto& arrival : reader.token_times()) tokens += arrival.tokens;
    EXPECT_EQ(tokens, 5U) << "three chunks carry five tokens";
    EXPECT_EQ(reader.token_times().front().at, reader.first_token());
  }
}

TEST(AnswerReader, TheFirstTokenIsTheFirstText) {
  AnswerReader reader(true, false);
  reader.begin();
  int ms = 0;
  for (const std::string& part :
       {kStreamHead, chunk(R"({"choices":[{"delta":{"role":"assistant","content":""}}]})"), chunk(content("a")),
        chunk(content("b")), chunk("[DONE]"), std::string("0\r\n\r\n")}) {
    std::string_view bytes = part;
    reader.take(bytes, at_ms(++ms));
  }
  EXPECT_EQ(reader.first_token(), at_ms(3));
  EXPECT_EQ(reader.done(), at_ms(5)) << "the end of the chunks says nothing new";
  EXPECT_EQ(reader.output_tokens(), 2U);
  EXPECT_FALSE(reader.counted());
  EXPECT_THAT(reader.token_times(), testing::SizeIs(2));
}

TEST(AnswerReader, ServersThatCountAlongAreBelieved) {
  const auto counted = [](int tokens) {
    return R"({"choices":[{"text":"aaaa"}],"usage":{"completion_tokens":)" + std::to_string(tokens) + "}}";
  };
  AnswerReader reader(true, false);
  reader.begin();
  int ms = 0;
  for (const std::string& part :
       {kStreamHead, chunk(counted(1)), chunk(counted(6)), chunk(counted(8)), std::string("0\r\n\r\n")}) {
    std::string_view bytes = part;
    reader.take(bytes, at_ms(++ms));
  }
  std::vector<std::uint32_t> tokens;
  for (const auto& arrival : reader.token_times()) tokens.push_back(arrival.tokens);
  EXPECT_THAT(tokens, testing::ElementsAre(1, 5, 2));
  EXPECT_EQ(reader.output_tokens(), 8U);
}

TEST(AnswerReader, ReadsAnAnswerThatIsNotStreamed) {
  const std::string body =
      R"({"choices":[{"message":{"content":"caf\u00e9 \ud83d\ude00\n"}}],"usage":{"completion_tokens":3,"prompt_tokens":2}})";
  AnswerReader reader(true, true);
  ASSERT_EQ(
      read_cut(reader, "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body, 9),
      AnswerReader::State::complete)
      << reader.problem();
  EXPECT_EQ(reader.text(), "café 😀\n");
  EXPECT_EQ(reader.output_tokens(), 3U);
  EXPECT_EQ(reader.first_token(), SteadyTime()) << "nobody saw it come";
}

TEST(AnswerReader, GoesOnAfterAnInterimAnswer) {
  AnswerReader reader(false, false);
  EXPECT_EQ(read_cut(reader, "HTTP/1.1 100 Continue\r\n\r\n" + good_stream(), 1000), AnswerReader::State::complete);
}

struct BadAnswer {
  std::string name;
  std::string bytes;
  RequestError error;
  std::string problem;
};
void PrintTo(const BadAnswer& bad, std::ostream* out) { *out << bad.name; }

class BadAnswers : public testing::TestWithParam<BadAnswer> {};
TEST_P(BadAnswers, HaveTheirKind) {
  for (const std::size_t piece : {std::size_t{1}, std::size_t{5000}}) {
    AnswerReader reader(true, true);
    EXPECT_EQ(read_cut(reader, GetParam().bytes, piece, true), AnswerReader::State::failed);
    EXPECT_EQ(name_of(reader.error()), name_of(GetParam().error));
    EXPECT_THAT(reader.problem(), HasSubstr(GetParam().problem));
  }
}
INSTANTIATE_TEST_SUITE_P(
    Each, BadAnswers,
    testing::Values(
        BadAnswer{"garbage", "\x16\x03\x01 hello\r\n\r\n", RequestError::malformed, "does not begin with"},
        BadAnswer{"http_2", "HTTP/2 200 OK\r\n\r\n", RequestError::malformed, "does not begin with"},
        BadAnswer{"folded", "HTTP/1.1 200 OK\r\nA: b\r\n c: d\r\n\r\n", RequestError::malformed, "header field"},
        BadAnswer{"two_lengths", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n",
                  RequestError::malformed, "length"},
        BadAnswer{"length_and_chunks", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
                  RequestError::malformed, "both"},
        BadAnswer{"negative_length", "HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n", RequestError::malformed,
                  "length"},
        BadAnswer{"gzip", "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n", RequestError::malformed,
                  "transfer encoding"},
        BadAnswer{"chunk_size", kStreamHead + "xyz\r\n", RequestError::malformed, "size of a chunk"},
        BadAnswer{"huge_chunk", kStreamHead + "ffffffffffffffff\r\n", RequestError::malformed, "too long"},
        BadAnswer{"long_chunk", kStreamHead + "1\r\nab\r\n", RequestError::malformed, "longer than it says"},
        BadAnswer{"endless_head", "HTTP/1.1 200 OK\r\nA: " + std::string(70'000, 'a'), RequestError::malformed,
                  "too long"},
        BadAnswer{"no_json", kStreamHead + chunk("hello"), RequestError::malformed, "no JSON"},
        BadAnswer{"half_json", kStreamHead + chunk("{\"choices\": ["), RequestError::malformed, "no JSON"},
        BadAnswer{"error_event", kStreamHead + chunk(R"({"error":{"message":"out of \"memory\""}})"),
                  RequestError::malformed, "the stream says: out of \"memory\""},
        BadAnswer{"cut_off", kStreamHead + chunk(content("a")), RequestError::disconnected, "ended before"},
        BadAnswer{"nothing", "", RequestError::disconnected, "ended before"},
        BadAnswer{"until_close",
                  "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: " + content("a") + "\n\n",
                  RequestError::disconnected, "ended before"},
        BadAnswer{"no_token", kStreamHead + chunk("[DONE]") + "0\r\n\r\n", RequestError::empty, "no token"},
        BadAnswer{"no_completion", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", RequestError::malformed,
                  "no completion"},
        BadAnswer{"bad_model",
                  "HTTP/1.1 404 Not Found\r\nContent-Length: 35\r\n\r\n{\"error\":{\"message\":\"no such one\"}}",
                  RequestError::rejected, "HTTP 404: no such one"},
        BadAnswer{"redirect", "HTTP/1.1 307 Away\r\nContent-Length: 0\r\n\r\n", RequestError::rejected, "HTTP 307"},
        BadAnswer{"busy", "HTTP/1.1 429 Slow\r\nContent-Length: 4\r\n\r\nslow", RequestError::overloaded,
                  "HTTP 429: slow"},
        BadAnswer{"broken", "HTTP/1.1 500 Oh\r\nContent-Length: 0\r\n\r\n", RequestError::server, "HTTP 500"}),
    [](const auto& test) { return test.param.name; });

TEST(AnswerReader, DoneIsEnoughWhereTheConnectionEndsAfterIt) {
  AnswerReader reader(false, false);
  EXPECT_EQ(read_cut(reader, kStreamHead + chunk(content("a")) + chunk("[DONE]"), 50, true),
            AnswerReader::State::complete);
}

TEST(HttpReader, KnowsWhetherTheConnectionStays) {
  const auto keeps = [](std::string_view head) {
    HttpReader reader;
    const std::string text = std::string(head) + "\r\nContent-Length: 0\r\n\r\n";
    std::string_view bytes = text;
    EXPECT_EQ(reader.next(bytes), HttpReader::Event::head);
    return reader.head().keep_alive;
  };
  EXPECT_TRUE(keeps("HTTP/1.1 200 OK"));
  EXPECT_FALSE(keeps("HTTP/1.1 200 OK\r\nconnection: Close"));
  EXPECT_FALSE(keeps("HTTP/1.0 200 OK"));
  EXPECT_TRUE(keeps("HTTP/1.0 200 OK\r\nConnection: keep-alive"));
}

TEST(SseReader, KnowsEveryLineEndAndSeveralLines) {
  SseReader reader;
  std::string_view bytes = "\xEF\xBB\xBF: hi\r\ndata: a\r\n\r\ndata:b\rdata: c\r\revent: x\ndata\n\nid: 5\n\ndata: end";
  std::vector<std::string> events;
  while (reader.next(bytes) == SseReader::Event::data) events.emplace_back(reader.data());
  if (reader.finish() == SseReader::Event::data) events.emplace_back(reader.data());
  EXPECT_THAT(events, testing::ElementsAre("a", "b\nc", "", "end"));
}

TEST(SseReader, RefusesAnEndlessLine) {
  SseReader reader(100);
  const std::string line = "data: " + std::string(60, 'x');
  std::string_view bytes = line;
  EXPECT_EQ(reader.next(bytes), SseReader::Event::more);
  bytes = line;
  EXPECT_EQ(reader.next(bytes), SseReader::Event::error);
}

TEST(AnswerScan, FindsWhatItLooksForWhereverItStands) {
  const auto part = scan_answer(
      R"( {"x":[{"choices":5},{}],"choices" : [ {"finish_reason":"length","delta":{"reasoning_content":"hm"}},
      {"delta":{"content":"second"}}], "usage": null, "y": -1.5e3, "z": true} )");
  ASSERT_TRUE(part);
  EXPECT_EQ(part->thinking, "hm");
  EXPECT_EQ(part->text, "");
  EXPECT_TRUE(part->finished);
  EXPECT_EQ(finish_reason_of(part->finish_reason), FinishReason::length);
  EXPECT_EQ(finish_reason_of("a server's own word"), FinishReason::other);
  EXPECT_FALSE(part->output_tokens);
  EXPECT_FALSE(part->failed);
}

TEST(AnswerScan, RefusesWhatIsNoObject) {
  for (const char* text : {"", "[]", "5", "{", "{\"a\"}", "{\"a\":}", "{\"a\":1}}", "{\"a\":\"\\"}) {
    EXPECT_FALSE(scan_answer(text)) << text;
  }
  EXPECT_FALSE(scan_answer("{\"a\":" + std::string(100, '[') + std::string(100, ']') + "}"));
}

}  // namespace
}  // namespace assay
