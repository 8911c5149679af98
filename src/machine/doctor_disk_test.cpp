#include <gmock/gmock.h>
#include <unistd.h>

#include "machine/doctor_checks.h"

namespace assay {
namespace {

using testing::HasSubstr;
using Level = DoctorFinding::Level;

constexpr std::uint64_t kGibibyte = std::uint64_t{1} << 30;

TEST(DoctorDisk, space) {
  EXPECT_EQ(check_disk_space("/data", 10 * kGibibyte).level, Level::ok);
  EXPECT_EQ(check_disk_space("/data", 10 * kGibibyte - 1).level, Level::warning);
  EXPECT_EQ(check_disk_space("/data", kGibibyte).level, Level::warning);
  EXPECT_EQ(check_disk_space("/data", kGibibyte - 1).level, Level::problem);
  EXPECT_EQ(check_disk_space("/data", std::nullopt).level, Level::ok);
  EXPECT_THAT(check_disk_space("/data", 0).found, HasSubstr("'/data'"));
}

TEST(DoctorDisk, space_of_a_folder_that_is_not_there_yet_is_that_of_its_parent) {
  TemporaryFolder folder;
  ASSERT_TRUE(free_bytes_at(folder.path() / "a/b/c"));
  EXPECT_GT(*free_bytes_at(folder.path() / "a/b/c"), 0u);
}

TEST(DoctorDisk, file_system) {
  EXPECT_EQ(check_file_system("/data", FileSystemKind{"ext4", false}).level, Level::ok);
  const auto network = check_file_system("/data", FileSystemKind{"lustre", true});
  EXPECT_EQ(network.level, Level::note);
  EXPECT_EQ(network.found, "'/data' is on lustre");
  EXPECT_EQ(check_file_system("/data", FileSystemKind{"tmpfs", false}).level, Level::note);
  const auto unknown = check_file_system("/data", Error{.kind = ErrorKind::io, .message = "stale handle"});
  EXPECT_EQ(unknown.level, Level::warning);
  EXPECT_THAT(unknown.remedy, HasSubstr("stale handle"));
}

TEST(DoctorDisk, data_folder_that_can_be_written_or_created) {
  TemporaryFolder folder;
  EXPECT_EQ(check_data_folder(folder.path()).level, Level::ok);
  const auto later = check_data_folder(folder.path() / "new/deeper");
  EXPECT_EQ(later.level, Level::ok);
  EXPECT_THAT(later.found, HasSubstr("can be created"));
  EXPECT_TRUE(fs::is_empty(folder.path())) << "looking leaves nothing behind";
}

TEST(DoctorDisk, data_folder_below_a_file) {
  TemporaryFolder folder;
  ASSERT_TRUE(write_file_atomically(folder.path() / "file", "x"));
  const auto finding = check_data_folder(folder.path() / "file");
  EXPECT_EQ(finding.level, Level::problem);
  EXPECT_THAT(finding.found, HasSubstr("is not a folder"));
}

TEST(DoctorDisk, data_folder_without_permission) {
  // Everywhere read-only, even for root, who may write to any other folder.
  const fs::path forbidden = ::geteuid() == 0 ? "/proc/assay" : "/etc/assay";
  const auto finding = check_data_folder(forbidden);
  EXPECT_EQ(finding.level, Level::problem);
  EXPECT_THAT(finding.found, HasSubstr("cannot be created"));
  EXPECT_NE(finding.remedy, "");
}

}  // namespace
}  // namespace assay
