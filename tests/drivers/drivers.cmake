# One suite, two databases: test_driver_*.c runs over each, test_<database>_*.c over its own. The schema is
# that of the next version (tests/hooks/next/), so that there are several migrations.
file(GLOB shared_tests CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/drivers/test_driver_*.c)
foreach(database sqlite postgres)
    file(GLOB own_tests CONFIGURE_DEPENDS
         ${CMAKE_CURRENT_SOURCE_DIR}/drivers/test_${database}_*.c)
    add_executable(drivers_${database}
        drivers/suite_${database}.c ${shared_tests} ${own_tests}
        $<TARGET_OBJECTS:muster_next_migrations>)
    target_link_libraries(drivers_${database} PRIVATE muster_test muster_features muster_fault)
    target_compile_definitions(drivers_${database} PRIVATE
        TESTS_DIR="${CMAKE_CURRENT_SOURCE_DIR}")
endforeach()

add_test(NAME drivers/sqlite COMMAND drivers_sqlite)
add_test(NAME drivers/postgres COMMAND
    ${CMAKE_CURRENT_SOURCE_DIR}/drivers/with_postgres $<TARGET_FILE:drivers_postgres>)
# The longest come first (COST), or the others would wait for them at the end.
set_tests_properties(drivers/sqlite drivers/postgres PROPERTIES TIMEOUT 600 LABELS drivers COST 60)
