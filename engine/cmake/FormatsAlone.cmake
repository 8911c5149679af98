# The engine's parsers of outside input without the rest of the engine, which needs LibTorch: so that they are tested,
# sanitized and fuzzed with the flags of the main project.
set(ENGINE_FOLDER ${CMAKE_SOURCE_DIR}/engine)
include(${ENGINE_FOLDER}/cmake/EngineModule.cmake)
find_path(ASSAY_ENGINE_BOOST_INCLUDE boost/json/src.hpp REQUIRED)

add_library(engine_options INTERFACE)
target_include_directories(engine_options INTERFACE ${ENGINE_FOLDER})
target_include_directories(engine_options SYSTEM INTERFACE ${ASSAY_ENGINE_BOOST_INCLUDE})
target_link_libraries(engine_options INTERFACE assay_options)

add_library(engine_settings INTERFACE)
target_link_libraries(engine_settings INTERFACE assay_spec)

add_subdirectory(engine/formats)
