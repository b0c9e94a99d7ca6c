# muster_library(name [FOLDERS …] LINKS …): src/<name>, or these folders of src/, with their
# subfolders, as the static library muster_<name>. main.c is the program's own.
function(muster_library name)
    cmake_parse_arguments(LIBRARY "" "" "FOLDERS;LINKS" ${ARGN})
    if(NOT LIBRARY_FOLDERS)
        set(LIBRARY_FOLDERS ${name})
    endif()
    set(sources "")
    foreach(folder IN LISTS LIBRARY_FOLDERS)
        file(GLOB_RECURSE found CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${folder}/*.c)
        list(APPEND sources ${found})
    endforeach()
    list(REMOVE_ITEM sources ${PROJECT_SOURCE_DIR}/src/app/main.c)
    add_library(muster_${name} STATIC ${sources})
    target_link_libraries(muster_${name} PRIVATE muster_flags PUBLIC ${LIBRARY_LINKS})
endfunction()

# Compiles migrations/*.sql into `target` as the table that src/db/migrate.c reads.
function(muster_embed_migrations target)
    file(GLOB files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/migrations/*.sql)
    set(output ${PROJECT_BINARY_DIR}/generated/migrations.c)
    add_custom_command(OUTPUT ${output}
        COMMAND ${CMAKE_COMMAND} -DOUTPUT=${output} "-DFILES=${files}"
                -P ${PROJECT_SOURCE_DIR}/cmake/embed_migrations.cmake
        DEPENDS ${files} ${PROJECT_SOURCE_DIR}/cmake/embed_migrations.cmake
        VERBATIM)
    target_sources(${target} PRIVATE ${output})
endfunction()

# Compiles share/prices.json into `target`, for src/features/cost/prices.c.
function(muster_embed_prices target)
    set(file ${PROJECT_SOURCE_DIR}/share/prices.json)
    set(output ${PROJECT_BINARY_DIR}/generated/built_in_prices.c)
    add_custom_command(OUTPUT ${output}
        COMMAND ${CMAKE_COMMAND} -DOUTPUT=${output} -DFILE=${file}
                -P ${PROJECT_SOURCE_DIR}/cmake/embed_prices.cmake
        DEPENDS ${file} ${PROJECT_SOURCE_DIR}/cmake/embed_prices.cmake
        VERBATIM)
    target_sources(${target} PRIVATE ${output})
endfunction()

# Compiles the version into `target`: looked up in each build, since it changes with each commit.
function(muster_embed_version target)
    set(output ${PROJECT_BINARY_DIR}/generated/version.c)
    add_custom_target(muster_version BYPRODUCTS ${output}
        COMMAND ${CMAKE_COMMAND} -DOUTPUT=${output} -DSOURCE=${PROJECT_SOURCE_DIR}
                -DRELEASE=${PROJECT_VERSION} -P ${PROJECT_SOURCE_DIR}/cmake/version.cmake
        COMMENT "Looking up the version"
        VERBATIM)
    add_dependencies(${target} muster_version)
    target_sources(${target} PRIVATE ${output})
endfunction()

# Compiles web/ and the libraries for agents into `target` as the table that src/features/portal/portal.c
# reads; an empty one without Node.
function(muster_embed_portal target)
    set(web ${PROJECT_SOURCE_DIR}/web)
    find_program(NODE node)
    find_program(NPM npm)
    find_program(PYTHON python3)
    set(version "0")
    if(NODE AND NPM)
        execute_process(COMMAND ${NODE} --version OUTPUT_VARIABLE version
                        OUTPUT_STRIP_TRAILING_WHITESPACE)
        string(REPLACE "v" "" version "${version}")
    endif()
    if(NOT MUSTER_PORTAL OR NOT PYTHON OR version VERSION_LESS 18)
        message(STATUS "portal: not in this build; it needs MUSTER_PORTAL=ON, Node.js 18, npm and python3")
        target_sources(${target} PRIVATE ${PROJECT_SOURCE_DIR}/cmake/portal_none.c)
        return()
    endif()
    set(sdk ${PROJECT_SOURCE_DIR}/sdk)
    file(GLOB_RECURSE files CONFIGURE_DEPENDS ${web}/src/* ${web}/scripts/* ${sdk}/python/muster/*.py
         ${sdk}/typescript/src/*)
    set(output ${PROJECT_BINARY_DIR}/generated/portal.c)
    set(packages ${PROJECT_BINARY_DIR}/generated/sdk)
    add_custom_command(OUTPUT ${output}
        COMMAND ${PROJECT_SOURCE_DIR}/scripts/npm_ci ${web}
        COMMAND ${PYTHON} ${PROJECT_SOURCE_DIR}/scripts/build_sdk.py ${packages}
        COMMAND ${NODE} ${web}/scripts/build.mjs ${output} ${packages}
        DEPENDS ${files} ${web}/package.json ${web}/package-lock.json
                ${sdk}/python/pyproject.toml ${sdk}/python/README.md
                ${sdk}/typescript/package.json ${sdk}/typescript/README.md
                ${sdk}/typescript/build.mjs ${sdk}/typescript/tsconfig.json
                ${PROJECT_SOURCE_DIR}/scripts/build_sdk.py ${PROJECT_SOURCE_DIR}/scripts/npm_ci
        COMMENT "Bundling the portal and the libraries for agents"
        VERBATIM)
    target_sources(${target} PRIVATE ${output})
endfunction()
