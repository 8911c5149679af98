#include "sharing/load_frame.h"

#include <gmock/gmock.h>

#include "base/files.h"
#include "sharing/client_part.h"
#include "sharing/load_messages.h"

namespace assay {
namespace {

/// Both directions of one connection.
struct FramePair {
  LoadKey link = make_load_key();
  FrameWriter writer{link, LinkEnd::client};
  FrameReader reader{LinkEnd::client};
  FramePair() { reader.use(link); }
};

TEST(LoadFrame, IsReadHoweverItsBytesCome) {
  FramePair pair;
  // One after the other: each has its place in the stream, and a sum may be made from its end.
  std::string bytes = pair.writer.write(FrameType::hello, "who I am");
  bytes += pair.writer.write(FrameType::ready, "");
  std::vector<LoadFrame> frames;
  for (const char byte : bytes) {
    pair.reader.feed(std::string_view(&byte, 1));
    auto frame = pair.reader.next();
    ASSERT_TRUE(frame.ok());
    if (*frame) frames.push_back(std::move(**frame));
  }
  ASSERT_EQ(frames.size(), 2u);
  EXPECT_EQ(frames[0].type, FrameType::hello);
  EXPECT_EQ(frames[0].payload, "who I am");
  EXPECT_EQ(frames[1].type, FrameType::ready);
}

TEST(LoadFrame, OfSomebodyWithoutTheKeyIsRefused) {
  FramePair pair;
  FrameWriter stranger(make_load_key(), LinkEnd::client);
  pair.reader.feed(stranger.write(FrameType::hello, "let me in"));
  EXPECT_EQ(pair.reader.next().error().kind, ErrorKind::denied);
}

TEST(LoadFrame, ThatWasChangedRepeatedOrTurnedRoundIsRefused) {
  FramePair changed;
  std::string bytes = changed.writer.write(FrameType::hello, "client 1");
  bytes[12] ^= 1;
  changed.reader.feed(bytes);
  EXPECT_FALSE(changed.reader.next().ok());

  FramePair repeated;
  const std::string once = repeated.writer.write(FrameType::ready, "");
  repeated.reader.feed(once + once);
  EXPECT_TRUE(repeated.reader.next().ok());
  EXPECT_FALSE(repeated.reader.next().ok());

  FramePair turned;
  FrameWriter other_way(turned.link, LinkEnd::coordinator);
  turned.reader.feed(other_way.write(FrameType::ready, ""));
  EXPECT_FALSE(turned.reader.next().ok());
}

TEST(LoadFrame, ThatIsTooLongIsRefusedByItsLength) {
  FramePair pair;
  pair.reader.feed(std::string("\xff\xff\xff\x7f\x01", 5));
  EXPECT_EQ(pair.reader.next().error().kind, ErrorKind::denied);
}

TEST(LoadFrame, ThePreambleTellsOtherVersionsFromStrangers) {
  const LinkNonce nonce = make_link_nonce();
  FrameReader ours(LinkEnd::client);
  ours.feed(preamble_of(nonce).substr(0, 20));
  EXPECT_FALSE(ours.nonce().value());
  ours.feed(preamble_of(nonce).substr(20));
  EXPECT_EQ(ours.nonce().value(), nonce);

  std::string other = preamble_of(nonce);
  other[7] = '9';
  FrameReader newer(LinkEnd::client);
  newer.feed(other);
  EXPECT_EQ(newer.nonce().error().kind, ErrorKind::unsupported);

  FrameReader browser(LinkEnd::client);
  browser.feed("GET / HTTP/1.1\r\n");
  EXPECT_EQ(browser.nonce().error().kind, ErrorKind::denied);
}

TEST(LoadKeyFile, IsItsOwnersAndReadBack) {
  const TemporaryFolder folder;
  const fs::path file = folder.path() / "clients.key";
  const LoadKey key = make_load_key();
  ASSERT_TRUE(write_load_key(file, key).ok());
  EXPECT_EQ(fs::status(file).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_EQ(read_load_key(file).value(), key);
  ASSERT_TRUE(write_file_atomically(file, "abc\n").ok());
  EXPECT_EQ(read_load_key(file).error().kind, ErrorKind::bad_file);
  EXPECT_EQ(read_load_key(folder.path() / "none").error().kind, ErrorKind::missing_file);
}

TEST(LoadMessages, AreReadBack) {
  const ClientHello hello{3, 8, "gpu02", {"assay 1", "aa", "bb"}};
  EXPECT_EQ(client_hello_from(json::serialize(to_json(hello))).value(), hello);
  const LoadOrder order{7, LoadOrder::Purpose::probe, 123.5};
  EXPECT_EQ(load_order_from(json::serialize(to_json(order))).value(), order);
  const Error error = error_from(json::serialize(
      error_json({.kind = ErrorKind::unreachable, .message = "refused", .hint = "Start it.", .context = {"asking"}})));
  EXPECT_EQ(error.kind, ErrorKind::unreachable);
  EXPECT_EQ(error.message, "asking: refused");
  EXPECT_EQ(error.hint, "Start it.");
  const SteadyTime time(Nanos(-5));
  EXPECT_EQ(time_from(time_payload(time)).value(), time);
}

TEST(LoadMessages, ThatMakeNoSenseAreErrors) {
  for (const char* text : {"", "[]", "{", "{\"index\": -1}", "{\"index\": 1, \"count\": 99999999999}"}) {
    EXPECT_FALSE(client_hello_from(text).ok()) << text;
  }
  for (const char* text :
       {"", "{\"number\": 1, \"purpose\": 9, \"rate\": 1}", "{\"number\": 1, \"purpose\": 0, \"rate\": null}"}) {
    EXPECT_FALSE(load_order_from(text).ok()) << text;
  }
  EXPECT_EQ(error_from("nothing").kind, ErrorKind::bad_file);
  EXPECT_FALSE(time_from("1234").ok());
}

}  // namespace
}  // namespace assay
