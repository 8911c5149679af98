#include <gtest/gtest.h>

#include <string_view>

#include "base/guard.h"

// Code under test starts this very binary again as a workload's guard, as it does with `assay`.
int main(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == assay::kGuardArgument) return assay::guard_main(argc, argv);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
