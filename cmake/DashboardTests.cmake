# Checks of web/; they need the packages that building the dashboard has installed (cmake/Dashboard.cmake).
if(NOT ASSAY_HAS_DASHBOARD)
  return()
endif()
add_test(NAME web_types COMMAND ${ASSAY_NODE} node_modules/svelte-check/bin/svelte-check --tsconfig ./tsconfig.json --fail-on-warnings)
add_test(NAME web_units COMMAND ${ASSAY_NODE} node_modules/vitest/vitest.mjs run)
add_test(NAME web_size COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_SOURCE_DIR}/web/scripts/size.py ${ASSAY_WEB_STAGE}/dist)
set_tests_properties(web_types web_units web_size PROPERTIES WORKING_DIRECTORY ${ASSAY_WEB_STAGE} LABELS integration TIMEOUT 300 COST 50)
foreach(name dashboard looking runs accounts anonymous administration queue hostile journey)
  add_test(NAME web_${name}
    COMMAND ${ASSAY_NODE} tests/${name}.mjs $<TARGET_FILE:assay> ${CMAKE_SOURCE_DIR} ${CMAKE_SOURCE_DIR}/build/web-screenshots)
  set_tests_properties(web_${name} PROPERTIES WORKING_DIRECTORY ${ASSAY_WEB_STAGE} LABELS e2e TIMEOUT 900 SKIP_RETURN_CODE 77
    COST 100)
endforeach()
