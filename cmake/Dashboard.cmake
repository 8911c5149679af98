# assay_dashboard_files: the built dashboard of web/ as a library that programs link. Without Node it is empty, and
# `assay serve` says what is missing.
set(ASSAY_DASHBOARD AUTO CACHE STRING "Embed the dashboard: ON, OFF, or AUTO: where Node 18 or newer and npm are installed")

set(files ${CMAKE_BINARY_DIR}/dashboard_files.cpp)
set(ASSAY_WEB_STAGE ${CMAKE_BINARY_DIR}/web)
set(ASSAY_HAS_DASHBOARD OFF)
find_package(Python3 REQUIRED COMPONENTS Interpreter)
if(ASSAY_DASHBOARD)
  find_program(ASSAY_NODE node)
  find_program(ASSAY_NPM npm)
  if(ASSAY_NODE AND ASSAY_NPM)
    execute_process(COMMAND ${ASSAY_NODE} --version OUTPUT_VARIABLE node_version OUTPUT_STRIP_TRAILING_WHITESPACE)
    string(REGEX REPLACE "^v" "" node_version "${node_version}")
    if(node_version VERSION_GREATER_EQUAL 18)
      set(ASSAY_HAS_DASHBOARD ON)
    endif()
  endif()
  if(NOT ASSAY_HAS_DASHBOARD)
    if(ASSAY_DASHBOARD STREQUAL AUTO)
      message(STATUS "No dashboard in this build: it needs Node 18 or newer and npm")
    else()
      message(FATAL_ERROR "ASSAY_DASHBOARD is ON, and there is no Node 18 or newer with npm here")
    endif()
  endif()
endif()

if(ASSAY_HAS_DASHBOARD)
  file(GLOB_RECURSE web CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/web/src/* ${CMAKE_SOURCE_DIR}/web/public/* ${CMAKE_SOURCE_DIR}/web/tests/*)
  set(must)
  if(NOT ASSAY_DASHBOARD STREQUAL AUTO)
    set(must --must)
  endif()
  add_custom_command(OUTPUT ${files}
    COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_SOURCE_DIR}/web/scripts/build.py ${CMAKE_SOURCE_DIR}/web ${ASSAY_WEB_STAGE} ${files} ${must}
    COMMAND ${CMAKE_COMMAND} -E touch ${files}
    DEPENDS ${web} ${CMAKE_SOURCE_DIR}/web/index.html ${CMAKE_SOURCE_DIR}/web/package-lock.json ${CMAKE_SOURCE_DIR}/web/vite.config.ts
            ${CMAKE_SOURCE_DIR}/web/scripts/build.py ${CMAKE_SOURCE_DIR}/web/scripts/embed.py
    COMMENT "Building the dashboard" VERBATIM)
else()
  add_custom_command(OUTPUT ${files}
    COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_SOURCE_DIR}/web/scripts/embed.py ${files}
    DEPENDS ${CMAKE_SOURCE_DIR}/web/scripts/embed.py VERBATIM)
endif()
add_library(assay_dashboard_files STATIC ${files})
# Hundreds of kilobytes of text in one literal: nothing to gain from the other settings of ours.
target_link_libraries(assay_dashboard_files PUBLIC assay_dashboard)
set_target_properties(assay_dashboard_files PROPERTIES UNITY_BUILD OFF)
