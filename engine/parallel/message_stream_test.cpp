#include "parallel/message_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <boost/json/serialize.hpp>
#include <stdexcept>

namespace assay::engine {
namespace {

using boost::json::object;
using testing::ElementsAre;

struct Ends {
  MessageStream left;
  MessageStream right;
};

Ends connected() {
  auto [left, right] = local_pair();
  return {MessageStream(std::move(left)), MessageStream(std::move(right))};
}

void send_raw(const MessageStream& from, std::string_view bytes) {
  ASSERT_EQ(::send(from.fd().get(), bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
}

TEST(MessageStream, CarriesMessagesInOrder) {
  Ends ends = connected();
  ends.left.send({{"n", 1}});
  ends.left.send({{"n", 2}});
  std::vector<object> messages;
  EXPECT_TRUE(ends.right.receive(messages));
  EXPECT_THAT(messages, ElementsAre(object{{"n", 1}}, object{{"n", 2}}));
  messages.clear();
  EXPECT_TRUE(ends.right.receive(messages));
  EXPECT_TRUE(messages.empty());
}

TEST(MessageStream, PutsPiecesTogether) {
  Ends ends = connected();
  std::vector<object> messages;
  for (const char byte : std::string("\0\0\0\7{\"a\":1}", 11)) {
    EXPECT_TRUE(messages.empty());
    send_raw(ends.left, {&byte, 1});
    EXPECT_TRUE(ends.right.receive(messages));
  }
  EXPECT_THAT(messages, ElementsAre(object{{"a", 1}}));
}

TEST(MessageStream, KeepsWhatTheSocketDoesNotTake) {
  Ends ends = connected();
  const object large{{"text", std::string(kLargestMessage - 100, 'x')}};
  ends.left.send(large);
  EXPECT_TRUE(ends.left.has_unsent());
  std::vector<object> messages;
  while (messages.empty()) {
    ASSERT_TRUE(ends.right.receive(messages));
    ASSERT_TRUE(ends.left.flush());
  }
  EXPECT_FALSE(ends.left.has_unsent());
  EXPECT_EQ(messages[0], large);
}

TEST(MessageStream, RefusesToSendWhatIsTooLarge) {
  Ends ends = connected();
  EXPECT_THROW(ends.left.send({{"text", std::string(kLargestMessage, 'x')}}), std::length_error);
}

TEST(MessageStream, GivesUpOnSomebodyWhoNeverReads) {
  Ends ends = connected();
  const object large{{"text", std::string(kLargestMessage - 100, 'x')}};
  for (int i = 0; i < 20; ++i) ends.left.send(large);
  EXPECT_FALSE(ends.left.flush());
}

TEST(MessageStream, EndsWithTheOtherSide) {
  Ends ends = connected();
  ends.left.send({{"last", true}});
  {
    const Ends gone{std::move(ends.left), MessageStream(Fd())};
  }
  std::vector<object> messages;
  EXPECT_FALSE(ends.right.receive(messages));
  EXPECT_THAT(messages, ElementsAre(object{{"last", true}}));
}

TEST(MessageStream, EndsAtNonsense) {
  for (const std::string& bytes :
       {std::string("GET / HTTP/1.1\r\n"), std::string("\0\0\0\4oops", 8), std::string("\0\0\0\4null", 8),
        std::string("\0\0\1\1", 4), std::string("\0\0\0\0", 4), std::string("\0\0\0\3{}{", 7)}) {
    Ends ends = connected();
    send_raw(ends.left, bytes);
    std::vector<object> messages;
    EXPECT_FALSE(ends.right.receive(messages, 256)) << bytes;
    EXPECT_TRUE(messages.empty());
  }
}

TEST(Hex, ComesBack) {
  std::vector<char> bytes;
  for (int i = 0; i < 256; ++i) bytes.push_back(static_cast<char>(i));
  EXPECT_EQ(bytes_from(hex_of(bytes.data(), bytes.size())), bytes);
  EXPECT_THROW(bytes_from("0"), std::invalid_argument);
  EXPECT_THROW(bytes_from("0G"), std::invalid_argument);
}

}  // namespace
}  // namespace assay::engine
