# A module = a CMake target = a folder below src/.
#
#   assay_module(store/local DEPS store LIBS assay::sqlite)
#
# makes the static library assay_store_local from the folder's *.cpp, and, from its *_test.cpp, the test
# program assay_store_local_test (label `unit`; with THREADED also `threaded`, which the TSan run picks; with NUMERIC also
# `numeric`: run in the optimised build as well, since its numbers must be the same there), and from each x_fuzz.cpp the
# libFuzzer program fuzz_x where ASSAY_BUILD_FUZZ is on. HEAVY: its tests compute for long, so that it is worth while to
# optimise it under the sanitizers, too.
#
# What tests share is in *_fixture.h and *_fixture.cpp: the latter are the library assay_store_local_fixtures, which tests
# of other modules get by TEST_DEPS store/local_fixtures.
#
# The checks and releases compile a dozen files at once (CMAKE_UNITY_BUILD), in less than half the time: so names in
# anonymous namespaces are unique within a folder. Builds for developing compile each file alone.
#
# Headers are included by their path below src/ ("store/local/local_store.h"). Each module has an include
# directory of its own that holds links to its headers alone, so a header of a module that was not
# declared in DEPS cannot be found: an undeclared dependency is a compile error.

function(assay_module path)
  cmake_parse_arguments(ARG "THREADED;NUMERIC;HEAVY" "" "DEPS;LIBS;TEST_DEPS" ${ARGN})
  string(REPLACE "/" "_" name ${path})
  set(target assay_${name})

  file(GLOB sources CONFIGURE_DEPENDS *.cpp)
  file(GLOB headers CONFIGURE_DEPENDS *.h)
  set(tests ${sources})
  set(fixtures ${sources})
  list(FILTER sources EXCLUDE REGEX "_(test|fuzz|fixture)\\.cpp$")
  list(FILTER tests INCLUDE REGEX "_test\\.cpp$")
  list(FILTER fixtures INCLUDE REGEX "_fixture\\.cpp$")

  set(include_root ${CMAKE_BINARY_DIR}/include/${name})
  file(REMOVE_RECURSE ${include_root})
  file(MAKE_DIRECTORY ${include_root}/${path})
  foreach(header IN LISTS headers)
    get_filename_component(file ${header} NAME)
    file(CREATE_LINK ${header} ${include_root}/${path}/${file} SYMBOLIC)
  endforeach()

  list(TRANSFORM ARG_DEPS REPLACE "/" "_")
  list(TRANSFORM ARG_DEPS PREPEND assay_)
  if(sources)
    add_library(${target} STATIC ${sources} ${headers})
    target_include_directories(${target} PUBLIC ${include_root})
    target_link_libraries(${target} PUBLIC ${ARG_DEPS} ${ARG_LIBS} PRIVATE assay_options assay_fuzzed)
    if(ARG_HEAVY AND ASSAY_SANITIZE)
      # The shared precompiled header is not optimised.
      target_compile_options(${target} PRIVATE -O1)
    else()
      assay_precompile(${target})
    endif()
  else()
    add_library(${target} INTERFACE ${headers})
    target_include_directories(${target} INTERFACE ${include_root})
    target_link_libraries(${target} INTERFACE ${ARG_DEPS} ${ARG_LIBS})
  endif()

  list(TRANSFORM ARG_TEST_DEPS REPLACE "/" "_")
  list(TRANSFORM ARG_TEST_DEPS PREPEND assay_)
  if(ASSAY_BUILD_TESTS AND tests)
    set(labels unit)
    if(ARG_THREADED)
      list(APPEND labels threaded)
    endif()
    if(ARG_NUMERIC)
      list(APPEND labels numeric)
    endif()
    set(libs ${target} ${ARG_TEST_DEPS})
    if(fixtures)
      add_library(${target}_fixtures STATIC ${fixtures})
      target_link_libraries(${target}_fixtures PUBLIC ${libs} PRIVATE assay_options)
      list(PREPEND libs ${target}_fixtures)
    endif()
    assay_test_program(${target}_test LABELS ${labels} SOURCES ${tests} LIBS ${libs})
  endif()

  file(GLOB fuzzers CONFIGURE_DEPENDS *_fuzz.cpp)
  if(ASSAY_BUILD_FUZZ)
    if(NOT TARGET assay_fuzzers)
      add_custom_target(assay_fuzzers)
    endif()
    foreach(fuzzer IN LISTS fuzzers)
      get_filename_component(stem ${fuzzer} NAME_WE)
      string(REPLACE "_fuzz" "" stem ${stem})
      add_executable(fuzz_${stem} ${fuzzer})
      add_dependencies(assay_fuzzers fuzz_${stem})
      target_link_libraries(fuzz_${stem} PRIVATE ${target} ${ARG_TEST_DEPS} assay_options assay_fuzzed)
      target_include_directories(fuzz_${stem} PRIVATE ${CMAKE_SOURCE_DIR}/tests)
      target_link_options(fuzz_${stem} PRIVATE -fsanitize=fuzzer)
      set_target_properties(fuzz_${stem} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/fuzz)
    endforeach()
  endif()
endfunction()

# assay_test_program(NAME LABELS … SOURCES … LIBS …): a GoogleTest program, each TEST a ctest test. SHARDS n: they are n of
# ctest's, NAME_1 to NAME_n, since what they share takes long to set up; each has one of its own, and they run side by side.
# COST: ctest begins with the highest.
function(assay_test_program target)
  cmake_parse_arguments(ARG "" "TIMEOUT;SHARDS;COST" "LABELS;SOURCES;LIBS" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 300)
  endif()
  if(NOT ARG_COST)
    set(ARG_COST 0)
  endif()
  assay_test_main()
  add_executable(${target} ${ARG_SOURCES})
  # "support/…" is what tests share.
  target_include_directories(${target} PRIVATE ${CMAKE_SOURCE_DIR}/tests)
  target_link_libraries(${target} PRIVATE ${ARG_LIBS} assay_test_main assay_options)
  set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  target_compile_options(${target} PRIVATE ${ASSAY_TEST_OPTIONS})
  target_precompile_headers(${target} REUSE_FROM assay_test_main)
  # `cmake --build … --target assay_unit_tests` builds the test programs of one label and nothing else.
  foreach(label IN LISTS ARG_LABELS)
    if(NOT TARGET assay_${label}_tests)
      add_custom_target(assay_${label}_tests)
    endif()
    add_dependencies(assay_${label}_tests ${target})
  endforeach()
  include(GoogleTest)
  # Discovery cannot hand on a list of labels; `ctest -L` takes a pattern, so one joined label does the same.
  list(JOIN ARG_LABELS "-" label)
  if(ARG_SHARDS)
    foreach(shard RANGE 1 ${ARG_SHARDS})
      math(EXPR index "${shard} - 1")
      add_test(NAME ${target}_${shard} COMMAND ${target})
      set_tests_properties(${target}_${shard} PROPERTIES LABELS ${label} TIMEOUT ${ARG_TIMEOUT} COST ${ARG_COST}
        ENVIRONMENT "GTEST_TOTAL_SHARDS=${ARG_SHARDS};GTEST_SHARD_INDEX=${index}")
    endforeach()
    return()
  endif()
  gtest_discover_tests(${target} DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 300
    PROPERTIES LABELS ${label} TIMEOUT ${ARG_TIMEOUT} COST ${ARG_COST})
endfunction()

# What is tested is compiled as users get it; the tests themselves are compiled fast.
set(ASSAY_TEST_OPTIONS -O0)

# What every test program starts with, and the headers of all tests, GoogleTest's among them, parsed once.
function(assay_test_main)
  if(TARGET assay_test_main)
    return()
  endif()
  add_library(assay_test_main STATIC ${CMAKE_SOURCE_DIR}/tests/support/main.cpp)
  target_link_libraries(assay_test_main PUBLIC assay_base GTest::gmock GTest::gtest PRIVATE assay_options)
  target_compile_options(assay_test_main PRIVATE ${ASSAY_TEST_OPTIONS})
  target_precompile_headers(assay_test_main PRIVATE ${ASSAY_COMMON_HEADERS} <gmock/gmock.h> <gtest/gtest.h>)
endfunction()

# The headers that nearly every file needs are parsed once, in assay_base, and reused everywhere:
# Boost.JSON and fmt alone cost three seconds a file.
set(ASSAY_COMMON_HEADERS <algorithm> <chrono> <filesystem> <functional> <map> <memory> <optional> <span> <string>
  <string_view> <variant> <vector> <boost/json.hpp> <fmt/format.h>)
function(assay_precompile target)
  if(target STREQUAL assay_base)
    target_precompile_headers(assay_base PRIVATE ${ASSAY_COMMON_HEADERS})
  else()
    target_precompile_headers(${target} REUSE_FROM assay_base)
  endif()
endfunction()
