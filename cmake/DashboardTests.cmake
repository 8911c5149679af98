# Checks of web/; they need the packages that building the dashboard has installed (cmake/Dashboard.cmake).
if(NOT ASSAY_HAS_DASHBOARD)
  return()
endif()
add_test(NAME web_types COMMAND ${ASSAY_NODE} node_modules/svelte-check/bin/svelte-check --tsconfig ./tsconfig.json --fail-on-warnings)
add_test(NAME web_units COMMAND ${ASSAY_NODE} node_modules/vitest/vitest.mjs run)
add_test(NAME web_size COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_SOURCE_DIR}/web/scripts/size.py ${ASSAY_WEB_STAGE}/dist)
add_test(NAME web_dashboard
  COMMAND ${ASSAY_NODE} tests/dashboard.mjs $<TARGET_FILE:assay> ${CMAKE_SOURCE_DIR} ${CMAKE_SOURCE_DIR}/build/web-screenshots)
add_test(NAME web_accounts
  COMMAND ${ASSAY_NODE} tests/accounts.mjs $<TARGET_FILE:assay> ${CMAKE_SOURCE_DIR} ${CMAKE_SOURCE_DIR}/build/web-screenshots)
add_test(NAME web_administration
  COMMAND ${ASSAY_NODE} tests/administration.mjs $<TARGET_FILE:assay> ${CMAKE_SOURCE_DIR} ${CMAKE_SOURCE_DIR}/build/web-screenshots)
add_test(NAME web_queue
  COMMAND ${ASSAY_NODE} tests/queue.mjs $<TARGET_FILE:assay> ${CMAKE_SOURCE_DIR} ${CMAKE_SOURCE_DIR}/build/web-screenshots)
add_test(NAME web_hostile
  COMMAND ${ASSAY_NODE} tests/hostile.mjs $<TARGET_FILE:assay> ${CMAKE_SOURCE_DIR} ${CMAKE_SOURCE_DIR}/build/web-screenshots)
set_tests_properties(web_types web_units web_size PROPERTIES WORKING_DIRECTORY ${ASSAY_WEB_STAGE} LABELS integration TIMEOUT 300)
set_tests_properties(web_dashboard web_accounts web_administration web_queue web_hostile PROPERTIES WORKING_DIRECTORY ${ASSAY_WEB_STAGE} LABELS e2e TIMEOUT 900 SKIP_RETURN_CODE 77
  COST 100)
