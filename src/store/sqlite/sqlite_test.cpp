#include "store/sqlite/sqlite.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/files.h"

namespace assay {
namespace {

ErrorKind kind_of_opening(const fs::path& path) {
  const auto database = Database::open(path.string());
  EXPECT_FALSE(database.ok()) << path;
  return database.ok() ? ErrorKind::unsupported : database.error().kind;
}

TEST(SqliteTest, AFileThatCannotBeOpenedIsNotAlwaysAMatterOfPermission) {
  const TemporaryFolder folder;
  EXPECT_EQ(kind_of_opening(folder.path() / "missing" / "a.db"), ErrorKind::io);
  // As if every descriptor were in use.
  rlimit before{};
  ::getrlimit(RLIMIT_NOFILE, &before);
  const rlimit none{0, before.rlim_max};
  ::setrlimit(RLIMIT_NOFILE, &none);
  EXPECT_EQ(kind_of_opening(folder.path() / "a.db"), ErrorKind::io);
  ::setrlimit(RLIMIT_NOFILE, &before);
}

TEST(SqliteTest, AFileInAFolderOfOthersIsDenied) {
  const TemporaryFolder folder;
  fs::permissions(folder.path(), fs::perms::none);
  // Root may open everything.
  const bool root = ::geteuid() == 0;
  EXPECT_EQ(root ? ::seteuid(65534) : 0, 0);
  EXPECT_EQ(kind_of_opening(folder.path() / "a.db"), ErrorKind::denied);
  EXPECT_EQ(root ? ::seteuid(0) : 0, 0);
  fs::permissions(folder.path(), fs::perms::owner_all);
}

}  // namespace
}  // namespace assay
