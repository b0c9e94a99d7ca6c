# muster_layer(name LINKS …): src/<name> as the static library muster_<name>.
function(muster_layer name)
    cmake_parse_arguments(LAYER "" "" "LINKS" ${ARGN})
    file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${name}/*.c)
    add_library(muster_${name} STATIC ${sources})
    target_link_libraries(muster_${name} PRIVATE muster_flags PUBLIC ${LAYER_LINKS})
endfunction()

# Compiles migrations/*.sql into `target` as the table that src/store/migrate.c reads.
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
