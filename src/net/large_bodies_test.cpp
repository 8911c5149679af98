// A body of a gibibyte in both directions, and what memory it takes.
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "net/body_fixture.h"

namespace assay {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kInstrumented = true;
#elif defined(__has_feature)
constexpr bool kInstrumented = __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
constexpr bool kInstrumented = false;
#endif

// Instrumented programs keep freed memory, and are slow.
constexpr std::uint64_t kLargeBytes = (std::uint64_t{1} << 30) >> (kInstrumented ? 5 : 0);
constexpr long kMostKib = 32 << 10;

long status_kib(const std::string& name) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(name + ":")) return std::stol(line.substr(name.size() + 1));
  }
  return 0;
}

/// What the process has taken at most since this was made, above what it had then.
class PeakMemory {
 public:
  PeakMemory() {
    // 5: the peak is what there is now.
    std::ofstream("/proc/self/clear_refs") << 5;
    before_ = status_kib("VmRSS");
  }
  long kib() const { return status_kib("VmHWM") - before_; }

 private:
  long before_ = 0;
};

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
