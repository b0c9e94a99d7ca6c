# Writes OUTPUT: a C table of the SQL files in FILES, in order of their numbers.
# NNNN_name.sql serves both dialects unless NNNN_name.postgres.sql stands beside it. A line
# "-- oldest: NNNN" in either says which program, by its last migration, is the oldest that can use what
# that file makes; without it, any.
list(SORT FILES COMPARE FILE_BASENAME)
set(rows "")
foreach(file IN LISTS FILES)
    get_filename_component(name ${file} NAME)
    if(name MATCHES "\\.postgres\\.sql$")
        continue()
    endif()
    if(NOT name MATCHES "^([0-9][0-9][0-9][0-9])_([a-z0-9_]+)\\.sql$")
        message(FATAL_ERROR "migrations/${name}: expected NNNN_name.sql")
    endif()
    set(label ${CMAKE_MATCH_2}) # before the next match, which takes its place
    string(REGEX REPLACE "^0+" "" number "${CMAKE_MATCH_1}")
    file(READ ${file} sqlite)
    string(REGEX REPLACE "\\.sql$" ".postgres.sql" other ${file})
    set(postgres "${sqlite}")
    if(EXISTS ${other})
        file(READ ${other} postgres)
    endif()
    foreach(dialect sqlite postgres)
        set(${dialect}_oldest 1)
        if("${${dialect}}" MATCHES "-- oldest: 0*([0-9]+)\n")
            set(${dialect}_oldest ${CMAKE_MATCH_1})
        endif()
        string(REPLACE "\\" "\\\\" text "${${dialect}}")
        string(REPLACE "\"" "\\\"" text "${text}")
        string(REPLACE "\n" "\\n\"\n        \"" text "${text}")
        set(${dialect}_text "${text}")
    endforeach()
    string(APPEND rows
        "    { ${number}, ${sqlite_oldest}, ${postgres_oldest}, \"${label}\",\n        \"${sqlite_text}\",\n        \"${postgres_text}\" },\n")
endforeach()
file(WRITE ${OUTPUT}
"/* Made from migrations/ by cmake/embed_migrations.cmake. */
#include \"db/migrate.h\"

const struct migration migrations[] = {
${rows}};

const size_t n_migrations = sizeof(migrations) / sizeof(migrations[0]);
")
