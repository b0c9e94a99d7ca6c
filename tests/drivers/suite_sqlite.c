/* suite_sqlite.c - each database is a file in a directory that goes away at exit. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "suite.h"

static char directory[] = "/tmp/muster-drivers-XXXXXX";

static void remove_directory(void)
{
    DIR *dir = opendir(directory);
    const struct dirent *entry;

    if (dir == NULL)
        return;
    while ((entry = readdir(dir)) != NULL) {
        char path[sizeof(directory) + sizeof(entry->d_name) + 1];

        (void)snprintf(path, sizeof(path), "%s/%s", directory, entry->d_name);
        (void)unlink(path);
    }
    (void)closedir(dir);
    (void)rmdir(directory);
}

const char *suite_new_database(void)
{
    static char url[64];
    static int n;

    if (n++ == 0) {
        if (mkdtemp(directory) == NULL)
            fail_msg("cannot make %s", directory);
        (void)atexit(remove_directory);
    }
    (void)snprintf(url, sizeof(url), "sqlite:%s/%d.db", directory, n);
    return url;
}
