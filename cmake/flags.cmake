# Compiles what was compiled before only once, where ccache is installed: in another copy of the
# repository too, because no path of ours that is absolute has a part in what ccache compares.
find_program(CCACHE ccache)
if(CCACHE AND NOT CMAKE_C_COMPILER_LAUNCHER)
    set(CMAKE_C_COMPILER_LAUNCHER env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} ${CCACHE})
endif()

# What every file is compiled and linked with; `muster_flags` carries it.
add_library(muster_flags INTERFACE)
target_include_directories(muster_flags INTERFACE ${PROJECT_SOURCE_DIR}/src)
target_compile_definitions(muster_flags INTERFACE _GNU_SOURCE)
target_compile_options(muster_flags INTERFACE
    -Wall -Wextra -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wformat=2
    -Wcast-qual -Werror -fstack-protector-strong -fdebug-prefix-map=${PROJECT_SOURCE_DIR}=.)
target_link_options(muster_flags INTERFACE -Wl,-z,relro,-z,now,-z,noexecstack)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
if(CMAKE_C_COMPILER_ID STREQUAL "Clang")
    target_compile_options(muster_flags INTERFACE -Wthread-safety -Wthread-safety-beta)
endif()
# assert() is for every build but release; ASSERT_ALWAYS() stays (base/base.h).
target_compile_definitions(muster_flags INTERFACE $<$<CONFIG:Release>:NDEBUG>)

if(MUSTER_CONFIG_DEFAULT)
    target_compile_definitions(muster_flags INTERFACE CONFIG_INITIAL="${MUSTER_CONFIG_DEFAULT}")
endif()

# These report by processes of their own, which a confined server cannot start.
if(MUSTER_SANITIZE OR CMAKE_C_FLAGS MATCHES "--coverage")
    target_compile_definitions(muster_flags INTERFACE CONFINE_INITIAL="0")
endif()

if(MUSTER_SANITIZE)
    target_compile_options(muster_flags INTERFACE
        -fsanitize=${MUSTER_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
    target_link_options(muster_flags INTERFACE -fsanitize=${MUSTER_SANITIZE})
    find_program(LLD ld.lld-19) # links the many test programs in a third of the time
    if(LLD AND CMAKE_C_COMPILER_ID STREQUAL "Clang")
        target_link_options(muster_flags INTERFACE -fuse-ld=lld)
    endif()
    if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
        # gcc 12 warns falsely on vsnprintf(NULL, 0, ...) when instrumented.
        target_compile_options(muster_flags INTERFACE -Wno-format-truncation)
    endif()
else()
    target_compile_options(muster_flags INTERFACE $<$<CONFIG:Release>:-D_FORTIFY_SOURCE=3>)
endif()
