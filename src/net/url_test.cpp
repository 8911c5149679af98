#include "net/url.h"
#include "net/listen_address.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "net/request_target.h"
#include "net/url_text.h"

namespace assay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

TEST(Url, ReadsHostPortAndPath) {
  const auto url = parse_url("https://leader.example:8443/base/v1?x=1");
  ASSERT_TRUE(url.ok()) << url.error().text();
  EXPECT_EQ(url->scheme, Url::Scheme::https);
  EXPECT_EQ(url->host, "leader.example");
  EXPECT_EQ(url->port, 8443);
  EXPECT_EQ(url->target, "/base/v1?x=1");
  EXPECT_EQ(url->place(), "leader.example:8443");
  EXPECT_EQ(url->host_header(), "leader.example:8443");
}

TEST(Url, HasTheSchemesOwnPort) {
  EXPECT_EQ(parse_url("http://a")->port, 80);
  EXPECT_EQ(parse_url("HTTPS://a")->port, 443);
  EXPECT_EQ(parse_url("https://a")->host_header(), "a");
  EXPECT_EQ(parse_url("http://a")->target, "/");
  EXPECT_EQ(parse_url("http://a?q=1")->target, "/?q=1");
}

TEST(Url, ReadsIpv6InBrackets) {
  const auto url = parse_url("http://[::1]:8080/x");
  ASSERT_TRUE(url.ok()) << url.error().text();
  EXPECT_EQ(url->host, "::1");
  EXPECT_EQ(url->place(), "[::1]:8080");
  EXPECT_THAT(parse_url("http://::1:8080").error().hint, HasSubstr("brackets"));
}

TEST(Url, ReadsUnixSockets) {
  for (const char* text : {"unix:/run/a.sock", "unix:///run/a.sock"}) {
    const auto url = parse_url(text);
    ASSERT_TRUE(url.ok()) << text;
    EXPECT_EQ(url->socket_path, "/run/a.sock") << text;
    EXPECT_EQ(url->host_header(), "localhost");
  }
  EXPECT_FALSE(parse_url("unix:relative").ok());
  EXPECT_FALSE(parse_url("unix:/").ok());
  EXPECT_FALSE(parse_url("unix://run/a.sock").ok());
  EXPECT_EQ(parse_url("unix://////a")->socket_path, "/a");
}

TEST(Url, RefusesWhatCannotBeCalled) {
  for (const char* text : {"", "leader:8080", "ftp://a", "http://", "http:///x", "http://a:b", "http://a:70000",
                           "http://a:0", "http://a b", "http://[::1", "http://[]:1", "http://[::1]x", "http://a/#frag",
                           "http://a:", "http://\x01", "http://a/\xC3\xA4"}) {
    const auto url = parse_url(text);
    ASSERT_FALSE(url.ok()) << text;
    EXPECT_EQ(url.error().kind, ErrorKind::usage) << text;
  }
}

TEST(Url, DoesNotRepeatCredentials) {
  const auto url = parse_url("http://user:secret@host/");
  ASSERT_FALSE(url.ok());
  EXPECT_EQ(url.error().text().find("secret"), std::string::npos);
}

TEST(ListenAddressText, ReadsEveryForm) {
  EXPECT_EQ(*parse_listen_address("127.0.0.1:8080"), (ListenAddress{.host = "127.0.0.1", .port = 8080}));
  EXPECT_EQ(*parse_listen_address(":0"), (ListenAddress{}));
  EXPECT_EQ(*parse_listen_address("[::]:80"), (ListenAddress{.host = "::", .port = 80}));
  EXPECT_EQ(parse_listen_address("unix:/run/a.sock")->socket_path, "/run/a.sock");
  EXPECT_EQ(parse_listen_address("[::1]:80")->text(), "[::1]:80");
  EXPECT_THAT(parse_listen_address("localhost").error().message, HasSubstr("no port"));
  EXPECT_FALSE(parse_listen_address("a:b:c").ok());
}

TEST(LoopbackHost, IsAnAddressOrLocalhostAndNoOtherName) {
  for (const char* host : {"localhost", "127.0.0.1", "127.8.9.10", "::1", "0:0:0:0:0:0:0:1"}) {
    EXPECT_TRUE(is_loopback_host(host)) << host;
  }
  for (const char* host : {"", "127.0.0.1.example.org", "127.example.org", "127.", "127.1", "128.0.0.1", "10.0.0.1",
                           "::2", "::", "localhost.example.org"}) {
    EXPECT_FALSE(is_loopback_host(host)) << host;
  }
}

TEST(PercentCoding, DecodesAndRefuses) {
  EXPECT_EQ(*percent_decode("a%20b%2Fc"), "a b/c");
  EXPECT_EQ(*percent_decode("a+b"), "a+b");
  EXPECT_EQ(*percent_decode("a+b", true), "a b");
  for (const char* text : {"%", "%4", "%zz", "a%2", "%00"}) EXPECT_FALSE(percent_decode(text).ok()) << text;
  EXPECT_EQ(percent_encode("a b/ä~"), "a%20b%2F%C3%A4~");
  EXPECT_EQ(*percent_decode(percent_encode("100% \xff?&=+")), "100% \xff?&=+");
}

TEST(Query, KeepsOrderAndRepeats) {
  EXPECT_THAT(*parse_query("a=1&b=&c&a=%202+3&&=x"),
              ElementsAre(Pair("a", "1"), Pair("b", ""), Pair("c", ""), Pair("a", " 2 3"), Pair("", "x")));
  EXPECT_TRUE(parse_query("")->empty());
  EXPECT_FALSE(parse_query("a=%").ok());
}

TEST(RequestTargetText, SplitsIntoDecodedSegments) {
  const auto target = parse_request_target("/runs/a%2Fb/c%20d?x=1");
  ASSERT_TRUE(target.ok());
  EXPECT_THAT(target->segments, ElementsAre("runs", "a/b", "c d"));
  EXPECT_EQ(target->path, "/runs/a/b/c d");
  EXPECT_THAT(target->query, ElementsAre(Pair("x", "1")));
  EXPECT_THAT(parse_request_target("/")->segments, ElementsAre(""));
  EXPECT_EQ(parse_request_target("http://host:1/x/y?z=1")->path, "/x/y");
  EXPECT_EQ(parse_request_target("http://host")->path, "/");
  EXPECT_EQ(parse_request_target("*")->path, "*");
}

TEST(RequestTargetText, RefusesWhatLeadsElsewhere) {
  for (const char* text : {"", "x", "/a/../b", "/%2e%2E/etc", "/.", "/a%00", "/a%", "/a#b", "host:443", "http://h?x"}) {
    EXPECT_FALSE(parse_request_target(text).ok()) << text;
  }
}

}  // namespace
}  // namespace assay
