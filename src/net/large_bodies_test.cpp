// A body of a gibibyte in both directions, and what memory it takes.
#include <gtest/gtest.h>

#include <string>

#include "net/body_fixture.h"
#include "net/client_messages.h"
#include "net/http_message.h"
#include "net/peak_memory_fixture.h"

namespace assay {
namespace {

constexpr std::uint64_t kLargeBytes = (std::uint64_t{1} << 30) >> (kInstrumented ? 5 : 0);
constexpr long kMostKib = 32 << 10;

class LargeBodies : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Both, LargeBodies, testing::Bool(), name_of_wire);

TEST_P(LargeBodies, GoUpAndDownWithinAWindow) {
  Router router;
  Pattern::Check up;
  router.post("/up",
              [&](const HttpRequest& request) {
                const auto taken = pour(*request.body_source, up.sink());
                return HttpResponse::text(taken ? 200 : 500, taken ? std::to_string(*taken) : taken.error().text());
              },
              {.stream_body = true});
  router.get("/down", [](const HttpRequest&) {
    return HttpResponse::pulled(std::make_shared<PatternSource>(kLargeBytes), "application/octet-stream");
  });
  BodyServer served(std::move(router), GetParam());
  const auto client = served.client();
  const PeakMemory peak;
  const auto sent =
      client->send({.method = "POST", .target = "/up", .body_source = std::make_shared<PatternSource>(kLargeBytes)});
  ASSERT_TRUE(sent.ok()) << sent.error().text();
  EXPECT_EQ(sent->body, std::to_string(kLargeBytes));
  EXPECT_EQ(up.taken(), kLargeBytes);
  Pattern::Check down;
  const auto received = client->receive({.target = "/down"}, down.sink());
  ASSERT_TRUE(received.ok()) << received.error().text();
  EXPECT_EQ(down.taken(), kLargeBytes);
  EXPECT_EQ(served.server().connections(), 1U) << "the connection was not kept";
  RecordProperty("peak_kib", static_cast<int>(peak.kib()));
  EXPECT_TRUE(kInstrumented || peak.kib() < kMostKib) << peak.kib() << " KiB more";
}

}  // namespace
}  // namespace assay
