#pragma once

#include <gmock/gmock.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "model/run.h"
#include "support/source_tree.h"

namespace assay {

/// A file of tests/fixtures/imports.
inline std::string fixture(const std::string& name) {
  auto content = read_file(test::fixture_folder() / "imports" / name);
  EXPECT_TRUE(content.ok()) << name;
  return std::move(content).value_or("");
}

inline std::vector<std::string> kinds_of(const std::vector<Flag>& flags) {
  std::vector<std::string> kinds;
  for (const auto& flag : flags) {
    EXPECT_NE(flag.message, "") << flag.kind;
    kinds.push_back(flag.kind);
  }
  return kinds;
}

/// Whether there is a flag of that kind whose message has that text.
inline bool has_flag(const std::vector<Flag>& flags, std::string_view kind, std::string_view text = "") {
  return std::any_of(flags.begin(), flags.end(), [&](const Flag& flag) {
    return flag.kind == kind && flag.message.find(text) != std::string::npos;
  });
}

inline std::string listed(const std::vector<Flag>& flags) {
  std::string text;
  for (const auto& flag : flags) text += flag.kind + " | " + flag.about + " | " + flag.message + "\n";
  return text;
}

}  // namespace assay
