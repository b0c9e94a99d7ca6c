# Fuzz targets: every fuzz/fuzz_<name>.c. Ordinarily each replays fuzz/corpus/<name>/ as a test;
# with MUSTER_FUZZ=ON (clang) they explore, and scripts/fuzz runs them.
file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/fuzz/fuzz_*.c)

add_library(muster_fuzz STATIC fuzz/support.c)
target_include_directories(muster_fuzz PUBLIC ${CMAKE_CURRENT_SOURCE_DIR}/fuzz)
target_link_libraries(muster_fuzz PUBLIC muster_flags muster_base)
add_custom_target(fuzz_targets)

if(MUSTER_FUZZ)
    # Everything counts its branches, so that the fuzzer sees what an input reaches.
    target_compile_options(muster_flags INTERFACE -fsanitize=fuzzer-no-link)
    target_link_options(muster_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()

foreach(source IN LISTS sources)
    get_filename_component(target ${source} NAME_WE)
    string(REGEX REPLACE "^fuzz_" "" name ${target})
    set(layer muster_features)
    if(name MATCHES "^http")
        set(layer muster_http)
    endif()
    add_executable(${target} ${source})
    target_link_libraries(${target} PRIVATE muster_fuzz ${layer})
    add_dependencies(fuzz_targets ${target})
    if(MUSTER_FUZZ)
        target_link_options(${target} PRIVATE -fsanitize=fuzzer)
    else()
        target_sources(${target} PRIVATE fuzz/replay.c)
        add_test(NAME fuzz/${name} COMMAND ${target} ${CMAKE_CURRENT_SOURCE_DIR}/fuzz/corpus/${name})
        set_tests_properties(fuzz/${name} PROPERTIES TIMEOUT 60 LABELS fuzz)
    endif()
endforeach()
