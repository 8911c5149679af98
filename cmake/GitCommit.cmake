# Run at every build (cmake -P): writes the commit the sources stand at into ${OUTPUT}, touching it only when it changed.
cmake_minimum_required(VERSION 3.25)
execute_process(COMMAND git -C ${SOURCE_DIR} describe --always --dirty --abbrev=12 --exclude *
  OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(NOT commit)
  set(commit unknown)
endif()
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT "#define ASSAY_GIT_COMMIT \"@commit@\"\n" @ONLY)
