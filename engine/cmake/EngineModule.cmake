# A module of the engine = a static library = a folder below engine/.
#
#   engine_module(data DEPS core formats)
#
# makes engine_data from the folder's *.cpp and, where GoogleTest is installed (GPU nodes have none), the test program
# engine_data_test from its *_test.cpp (with THREADED the TSan run picks it as well), and, where the main project builds
# fuzzers, fuzz_x from each x_fuzz.cpp. Headers are included by their path below engine/ ("data/loader.h").
function(engine_module name)
  cmake_parse_arguments(ARG "NO_TORCH;THREADED" "" "DEPS;LIBS" ${ARGN})
  set(target engine_${name})
  file(GLOB sources CONFIGURE_DEPENDS *.cpp)
  file(GLOB tests CONFIGURE_DEPENDS *_test.cpp)
  list(FILTER sources EXCLUDE REGEX "_(test|fuzz|main)\\.cpp$")
  list(TRANSFORM ARG_DEPS PREPEND engine_)

  add_library(${target} STATIC ${sources})
  target_link_libraries(${target} PUBLIC engine_options ${ARG_DEPS} ${ARG_LIBS})
  if(TARGET assay_fuzzed)
    target_link_libraries(${target} PRIVATE assay_fuzzed)
  endif()
  if(NOT ARG_NO_TORCH)
    target_link_libraries(${target} PUBLIC engine_torch)
    engine_precompile(${target})
  endif()

  if(tests AND GTest_FOUND AND (ASSAY_BUILD_TESTS OR PROJECT_IS_TOP_LEVEL))
    add_executable(${target}_test ${tests} ${ENGINE_FOLDER}/core/test_main.cpp)
    target_link_libraries(${target}_test PRIVATE ${target} GTest::gmock GTest::gtest)
    target_include_directories(${target}_test PRIVATE ${ENGINE_FOLDER}/../tests)
    if(ARG_NO_TORCH)
      # What is tested is compiled as users get it; the tests themselves are compiled fast.
      target_compile_options(${target}_test PRIVATE -O0)
    else()
      # The shared precompiled header is for any optimisation, but not for none.
      target_compile_options(${target}_test PRIVATE -O1)
      engine_precompile(${target}_test)
    endif()
    set_target_properties(${target}_test PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
    include(GoogleTest)
    # With LibTorch they are the engine's, run as it is built; without, unit tests like the others, under the sanitizers.
    set(label unit)
    if(TARGET engine_torch)
      set(label engine)
    elseif(ARG_THREADED)
      set(label unit-threaded)
    endif()
    if(ARG_NO_TORCH)
      gtest_discover_tests(${target}_test TEST_PREFIX Engine. DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 300
        PROPERTIES LABELS ${label} TIMEOUT 300)
    else()
      # Loading LibTorch takes a second: once for a module, not for each of its tests.
      add_test(NAME Engine.${name} COMMAND ${target}_test)
      set_tests_properties(Engine.${name} PROPERTIES LABELS ${label} TIMEOUT 900)
    endif()
    # The targets that build the tests of one label and nothing else.
    string(REPLACE "-" ";" labels ${label})
    foreach(label IN LISTS labels)
      if(NOT TARGET assay_${label}_tests)
        add_custom_target(assay_${label}_tests)
      endif()
      add_dependencies(assay_${label}_tests ${target}_test)
    endforeach()
  endif()

  file(GLOB fuzzers CONFIGURE_DEPENDS *_fuzz.cpp)
  if(TARGET assay_fuzzers)
    foreach(fuzzer IN LISTS fuzzers)
      get_filename_component(stem ${fuzzer} NAME_WE)
      string(REPLACE "_fuzz" "" stem ${stem})
      add_executable(fuzz_${stem} ${fuzzer})
      add_dependencies(assay_fuzzers fuzz_${stem})
      target_link_libraries(fuzz_${stem} PRIVATE ${target} assay_fuzzed)
      target_link_options(fuzz_${stem} PRIVATE -fsanitize=fuzzer)
      set_target_properties(fuzz_${stem} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/fuzz)
    endforeach()
  endif()
endfunction()

# LibTorch's headers are parsed once, in engine_core: autograd alone costs ten seconds a file.
function(engine_precompile target)
  if(target STREQUAL engine_core)
    target_precompile_headers(engine_core PRIVATE <algorithm> <cmath> <cstdint> <functional> <map> <memory> <optional>
      <span> <string> <string_view> <vector> <boost/json.hpp> <ATen/ATen.h> <torch/csrc/autograd/custom_function.h>
      <torch/csrc/autograd/autograd.h>)
  else()
    target_precompile_headers(${target} REUSE_FROM engine_core)
  endif()
endfunction()
