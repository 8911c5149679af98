# Flags shared by every target of the main project, kept in one interface target.
find_program(CCACHE ccache)
if(CCACHE)
  set(launcher ${CMAKE_SOURCE_DIR}/scripts/cached_compiler.sh ${CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${launcher})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
endif()

add_library(assay_options INTERFACE)
# One setting for libraries and programs alike (CMake would take -fPIC here and -fPIE there, and a
# precompiled header cannot be shared across that difference).
# No fused multiply-add: the same input gives the same numbers on every CPU.
target_compile_options(assay_options INTERFACE -fPIE -ffp-contract=off)
target_link_options(assay_options INTERFACE -pie)
# Files that are compiled together would shadow each other's names: clang-tidy, which sees them one by one, looks at that.
# Designated initialisers leave the rest at its default on purpose.
target_compile_options(assay_options INTERFACE
  -Wall -Wextra -Wpedantic $<$<NOT:$<BOOL:${CMAKE_UNITY_BUILD}>>:-Wshadow> -Wold-style-cast -Wcast-qual -Wnon-virtual-dtor
  -Woverloaded-virtual -Wextra-semi -Wvla -Wno-missing-field-initializers $<$<BOOL:${ASSAY_WERROR}>:-Werror>
  # clang 19 takes std::stable_sort of libstdc++ 12 for our use of a deprecated function.
  $<$<CXX_COMPILER_ID:Clang>:-Wno-deprecated-declarations>
  $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>
  # g++ tells a header from a source by the name of the file it was given.
  $<$<AND:$<CXX_COMPILER_ID:GNU>,$<BOOL:${CMAKE_UNITY_BUILD}>>:-Wno-subobject-linkage>
  # g++ 12 sees overflows inside its own std::string and unset members of an empty std::optional when it optimises (GCC
  # bugs 105329, 105651 and 80635).
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict> $<$<CXX_COMPILER_ID:GNU>:-Wno-stringop-overflow>
  $<$<CXX_COMPILER_ID:GNU>:-Wno-stringop-overread>
  $<$<CXX_COMPILER_ID:GNU>:-Wno-array-bounds> $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
target_compile_definitions(assay_options INTERFACE _GLIBCXX_ASSERTIONS)
find_package(Threads REQUIRED)
target_link_libraries(assay_options INTERFACE Threads::Threads)

if(ASSAY_SANITIZE)
  target_compile_options(assay_options INTERFACE -fsanitize=${ASSAY_SANITIZE} -fno-omit-frame-pointer
    -fno-sanitize-recover=all)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND ASSAY_SANITIZE MATCHES "thread")
    target_compile_options(assay_options INTERFACE -Wno-tsan)
  endif()
  target_link_options(assay_options INTERFACE -fsanitize=${ASSAY_SANITIZE})
endif()

# What leads fuzzers: counts of branches, in what is tested; its tests are compiled faster without.
add_library(assay_fuzzed INTERFACE)
if(ASSAY_BUILD_FUZZ)
  target_compile_options(assay_fuzzed INTERFACE -fsanitize=fuzzer-no-link)
endif()

# Test programs are many and large, and lld links each several times faster.
include(CheckLinkerFlag)
check_linker_flag(CXX -fuse-ld=lld ASSAY_HAS_LLD)
if(CMAKE_BUILD_TYPE STREQUAL Debug AND ASSAY_HAS_LLD)
  target_link_options(assay_options INTERFACE -fuse-ld=lld)
endif()
