#pragma once

#include <filesystem>
#include <string>

namespace assay::test {

/// The nearest folder above the running program that holds `sign`. A path that was compiled in would be another one in
/// each checkout, and no object could be shared by them.
inline std::filesystem::path folder_above_program(const char* sign) {
  for (auto folder = std::filesystem::read_symlink("/proc/self/exe").parent_path();; folder = folder.parent_path()) {
    if (std::filesystem::exists(folder / sign) || folder == folder.root_path()) return folder;
  }
}

inline std::filesystem::path source_folder() { return folder_above_program("CMakePresets.json"); }
inline std::filesystem::path build_folder() { return folder_above_program("CMakeCache.txt"); }
/// What is built for tests lies in one folder.
inline std::string beside_program(const char* name) {
  return std::filesystem::read_symlink("/proc/self/exe").replace_filename(name).string();
}
inline std::filesystem::path fixture_folder() { return source_folder() / "tests/fixtures"; }

}  // namespace assay::test
