# Writes OUTPUT: the version as a C string, unless it says that already. RELEASE is the project's version:
# that of a commit with the tag vRELEASE, and of sources without their history. Any other commit is after it:
# RELEASE+git, the time of the commit in UTC and its name, so that dpkg puts later ones later, before the
# next release. ".changed": files differ from the commit.
function(git result)
    get_filename_component(above ${SOURCE} DIRECTORY) # whose history is not that of SOURCE
    execute_process(COMMAND ${CMAKE_COMMAND} -E env TZ=UTC GIT_CEILING_DIRECTORIES=${above}
                            git --no-optional-locks -c safe.directory=* -C ${SOURCE} ${ARGN}
                    OUTPUT_VARIABLE said ERROR_QUIET RESULT_VARIABLE status OUTPUT_STRIP_TRAILING_WHITESPACE)
    set(${result} "${said}" PARENT_SCOPE)
    set(status ${status} PARENT_SCOPE)
endfunction()

set(version ${RELEASE})
git(commit log -1 --format=%cd.%H --date=format-local:%Y%m%d.%H%M%S)
if(status EQUAL 0)
    git(tags tag --points-at HEAD --list v${RELEASE})
    git(changes status --porcelain --untracked-files=no)
    string(SUBSTRING ${commit} 0 24 commit) # eight characters of its name
    if(changes)
        set(version ${RELEASE}+git${commit}.changed)
    elseif(NOT tags)
        set(version ${RELEASE}+git${commit})
    endif()
endif()

set(text "/* Made by cmake/version.cmake. */
extern const char muster_version[];

const char muster_version[] = \"${version}\";
")
set(before "")
if(EXISTS ${OUTPUT})
    file(READ ${OUTPUT} before)
endif()
if(NOT before STREQUAL text)
    file(WRITE ${OUTPUT} "${text}")
endif()
