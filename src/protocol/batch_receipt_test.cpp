#include "protocol/batch_receipt.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

using namespace std::chrono_literals;

TEST(BatchReceipt, ComesBackAsItWas) {
  BatchReceipt receipt{.sequence = 17, .now_ns = 1'800'000'000'000'000'000, .pause = 250ms};
  EXPECT_EQ(parse_batch_receipt(json::serialize(to_json(receipt))).value(), receipt);
  receipt.period = 100ms;
  EXPECT_EQ(parse_batch_receipt(json::serialize(to_json(receipt))).value(), receipt);
}

TEST(BatchReceipt, OnlyTheSequenceIsNeeded) {
  EXPECT_EQ(parse_batch_receipt(R"({"sequence": 5, "new": []})").value(), BatchReceipt{.sequence = 5});
  for (const char* body : {"", "{}", "[]", R"({"sequence": "5"})", R"({"sequence": 1, "pause_ms": "long"})"}) {
    EXPECT_FALSE(parse_batch_receipt(body).ok()) << body;
  }
}

TEST(BatchReceipt, WrongNumbersNeitherSilenceNorFloodANode) {
  const auto receipt = [](const char* fields) {
    return parse_batch_receipt(std::string(R"({"sequence": 1, )") + fields + "}").value();
  };
  EXPECT_EQ(parse_batch_receipt(R"({"sequence": -4})")->sequence, 0U);
  EXPECT_EQ(receipt(R"("pause_ms": -1)").pause, 0s);
  EXPECT_EQ(receipt(R"("pause_ms": 9000000000000000000)").pause, 60s);
  EXPECT_EQ(receipt(R"("period_ms": 0)").period, std::nullopt);
  EXPECT_EQ(receipt(R"("period_ms": -5)").period, std::nullopt);
  EXPECT_EQ(receipt(R"("period_ms": 1)").period, 10ms);
  EXPECT_EQ(receipt(R"("period_ms": 9000000000000000000)").period, 10min);
}

}  // namespace
}  // namespace assay
