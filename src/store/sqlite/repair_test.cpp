#include "store/sqlite/repair.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "base/files.h"

namespace assay {
namespace {

using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

constexpr int kRows = 2000;
constexpr std::size_t kPage = 4096;

class RepairTest : public testing::Test {
 protected:
  RepairTest() {
    auto database = Database::open(file_.string()).value();
    EXPECT_TRUE(
        database
            .execute("PRAGMA user_version = 7; CREATE TABLE event (id INTEGER PRIMARY KEY, text TEXT NOT NULL);"
                     "CREATE INDEX event_text ON event (text);"
                     "CREATE TABLE point (series INTEGER, t INTEGER, v BLOB, PRIMARY KEY (series, t)) WITHOUT ROWID;"
                     "CREATE TABLE name (name TEXT PRIMARY KEY, value INTEGER) WITHOUT ROWID; BEGIN")
            .ok());
    for (int row = 0; row < kRows; ++row) {
      EXPECT_TRUE(database
                      .execute("INSERT INTO event VALUES (" + std::to_string(row) + ", printf('%0100d', " +
                               std::to_string(row) + ")); INSERT INTO point VALUES (" + std::to_string(row / 500) +
                               ", " + std::to_string(row) +
                               ", zeroblob(100)); INSERT INTO name VALUES (printf('%0100d', " + std::to_string(row) +
                               "), 1)")
                      .ok());
    }
    EXPECT_TRUE(database.execute("COMMIT").ok());
    EXPECT_EQ(::chmod(file_.c_str(), 0640), 0);
  }

  /// Overwrites a page with rows in the middle of a table.
  void damage(const std::string& table) {
    std::size_t page = 0;
    {
      auto database = Database::open(file_.string()).value();
      const auto root = database.number("SELECT rootpage FROM sqlite_schema WHERE name = '" + table + "'");
      page = static_cast<std::size_t>(root.value());
    }
    const auto bytes = read_file(file_).value();
    const auto number = [&](std::size_t at, std::size_t size) {
      std::size_t value = 0;
      for (const char byte : bytes.substr((page - 1) * kPage + at, size)) {
        value = value << 8 | static_cast<unsigned char>(byte);
      }
      return value;
    };
    // Pages above others have in each cell the number of one of those, first.
    while (number(0, 1) == 2 || number(0, 1) == 5) {
      const std::size_t middle = number(3, 2) / 2;
      page = number(number(12 + 2 * middle, 2), 4);
    }
    std::fstream file(file_, std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(static_cast<std::streamoff>((page - 1) * kPage));
    file.write(std::string(kPage, '\x55').data(), kPage);
  }
  static const SalvagedTable& table(const DatabaseRepair& repair, std::string_view name) {
    return *std::find_if(repair.salvaged.begin(), repair.salvaged.end(),
                         [&](const SalvagedTable& one) { return one.name == name; });
  }

  TemporaryFolder folder_;
  fs::path file_ = folder_.path() / "cluster.db";
};

TEST_F(RepairTest, ASoundFileStaysAsItIs) {
  const auto before = read_file(file_).value();
  const auto repair = repair_database(file_, true);
  ASSERT_TRUE(repair.ok()) << repair.error().text();
  EXPECT_THAT(repair->problems, IsEmpty());
  EXPECT_TRUE(repair->aside.empty());
  EXPECT_EQ(read_file(file_).value(), before);
  const auto none = repair_database(folder_.path() / "missing.db", true);
  ASSERT_TRUE(none.ok());
  EXPECT_THAT(none->problems, IsEmpty());
  EXPECT_FALSE(fs::exists(folder_.path() / "missing.db"));
}

TEST_F(RepairTest, LookingChangesNothing) {
  damage("event");
  const auto before = read_file(file_).value();
  const auto repair = repair_database(file_, false);
  ASSERT_TRUE(repair.ok()) << repair.error().text();
  EXPECT_THAT(repair->problems, Not(IsEmpty()));
  EXPECT_TRUE(repair->aside.empty());
  EXPECT_EQ(read_file(file_).value(), before);
}

TEST_F(RepairTest, EveryRowThatCanBeReadIsKeptAndTheOldFileToo) {
  for (const char* name : {"event", "point", "name"}) damage(name);
  const auto before = read_file(file_).value();
  const auto repair = repair_database(file_, true);
  ASSERT_TRUE(repair.ok()) << repair.error().text();
  EXPECT_THAT(repair->salvaged, SizeIs(3));
  for (const char* name : {"event", "point", "name"}) {
    const auto& kept = table(*repair, name);
    EXPECT_FALSE(kept.whole) << name;
    // A page holds some forty.
    EXPECT_GT(kept.rows, kRows - 100) << name;
    EXPECT_LT(kept.rows, kRows) << name;
  }
  EXPECT_EQ(read_file(repair->aside).value(), before);
  struct stat info{};
  ASSERT_EQ(::stat(file_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0640U);
  auto mended = Database::open(file_.string()).value();
  EXPECT_EQ(mended.number("PRAGMA user_version").value(), 7);
  EXPECT_EQ(mended.number("SELECT count(*) FROM event INDEXED BY event_text WHERE text = printf('%0100d', 0)").value(),
            1);
  EXPECT_THAT(repair_database(file_, false)->problems, IsEmpty());
}

TEST_F(RepairTest, WhatIsNoDatabaseAnyMoreIsOnlySetAside) {
  ASSERT_TRUE(write_file_atomically(file_, std::string(8 * kPage, 'x')).ok());
  const auto repair = repair_database(file_, true);
  ASSERT_TRUE(repair.ok()) << repair.error().text();
  EXPECT_THAT(repair->problems, Not(IsEmpty()));
  EXPECT_THAT(repair->salvaged, IsEmpty());
  EXPECT_TRUE(fs::exists(repair->aside));
  EXPECT_FALSE(fs::exists(file_));
}

TEST_F(RepairTest, WhatIsOfNoUseIsNotPutInPlace) {
  damage("event");
  const auto repair = repair_database(file_, true, [](Database&, const std::vector<SalvagedTable>&) {
    return Result<void>(Error{.kind = ErrorKind::bad_file, .message = "of no use"});
  });
  ASSERT_TRUE(repair.ok()) << repair.error().text();
  EXPECT_THAT(repair->salvaged, IsEmpty());
  EXPECT_FALSE(fs::exists(file_));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_.path()), {}), 1) << "the damaged file alone";
}

}  // namespace
}  // namespace assay
