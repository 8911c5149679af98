#include "base/ids.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/hash.h"

namespace assay {
namespace {

TEST(Ids, AreTenUnambiguousCharactersAndDiffer) {
  std::set<std::string> seen;
  std::set<char> first_characters;
  for (int i = 0; i < 1000; ++i) {
    const auto id = new_id();
    ASSERT_EQ(id.size(), 10u);
    ASSERT_EQ(id.find_first_not_of("0123456789abcdefghjkmnpqrstvwxyz"), std::string::npos) << id;
    ASSERT_TRUE(seen.insert(id).second) << id;
    first_characters.insert(id.front());
  }
  // Random from the first character on: 1000 draws of 32 miss none but by a chance of 10^-12.
  EXPECT_EQ(first_characters.size(), 32u);
}

TEST(Ids, FromTextAreStable) {
  EXPECT_EQ(id_from("slurm:81"), "3cnd7wsgsq");
  EXPECT_NE(id_from("slurm:81"), id_from("slurm:82"));
}

// Pinned: seeds of random streams and names of recorded specs depend on these.
TEST(Hash, IsTheSameInEveryVersion) {
  EXPECT_EQ(stable_hash(""), 0xf52a15e9a9b5e89bu);
  EXPECT_EQ(stable_hash("arrivals"), 0x3618514899316990u);
  EXPECT_EQ(stable_hash("\xff"), 0x4f2db50f124040cdu);  // as an unsigned byte, whatever `char` is
  EXPECT_EQ(content_hash("kind: train"), "e3df79996b23e2eb10bbd7fd0203ef92");
}

TEST(Hash, SpreadsShortTexts) {
  std::set<std::uint64_t> high_bytes;
  for (char c = 'a'; c <= 'z'; ++c) high_bytes.insert(stable_hash(std::string(1, c)) >> 48);
  EXPECT_EQ(high_bytes.size(), 26u);
}

TEST(Hash, TheTwoHalvesOfAContentHashDiffer) {
  const auto hash = content_hash("x");
  ASSERT_EQ(hash.size(), 32u);
  EXPECT_EQ(hash.find_first_not_of("0123456789abcdef"), std::string::npos);
  EXPECT_NE(hash.substr(0, 16), hash.substr(16));
}

}  // namespace
}  // namespace assay
