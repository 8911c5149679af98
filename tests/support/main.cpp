#include <gtest/gtest.h>

#include <string_view>

#include "base/guard.h"

#ifdef __clang__  // g++ cannot be asked so
#if __has_feature(thread_sanitizer)
// The tables without locks inside OpenSSL 3.5 (Debian 13), which is linked without instrumentation. Suppressions go by
// names of functions, and only addr2line is there to find them where clang comes without its own symbolizer.
// NOLINTBEGIN(bugprone-reserved-identifier)
extern "C" const char* __tsan_default_suppressions() { return "race:ossl_ht_\n"; }
extern "C" const char* __tsan_default_options() { return "allow_addr2line=1"; }
// NOLINTEND(bugprone-reserved-identifier)
#endif
#endif

// Code under test starts this very binary again as a workload's guard, as it does with `assay`.
int main(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == assay::kGuardArgument) return assay::guard_main(argc, argv);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
