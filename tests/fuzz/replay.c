/* replay.c - main() of a fuzz target in ordinary builds: feeds it every file of a directory. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "fuzz.h"

/* -1 when the file cannot be read whole. The target gets memory of exactly its size, so that a
 * sanitizer sees a read beyond it. */
static int feed(const char *path)
{
    FILE *file = fopen(path, "rb");
    struct stat info;
    uint8_t *data;
    size_t size;
    int r = -1;

    if (file == NULL)
        return -1;
    if (fstat(fileno(file), &info) == 0 && S_ISREG(info.st_mode)) {
        size = (size_t)info.st_size;
        data = mem_resize(NULL, size == 0 ? 1 : size);
        if (fread(data, 1, size, file) == size) {
            (void)LLVMFuzzerTestOneInput(data, size);
            r = 0;
        }
        free(data);
    }
    (void)fclose(file);
    return r;
}

int main(int argc, char **argv)
{
    const struct dirent *entry;
    size_t fed = 0;
    DIR *dir;

    if (argc != 2) {
        (void)fprintf(stderr, "usage: %s DIRECTORY\n", argv[0]);
        return 2;
    }
    dir = opendir(argv[1]);
    if (dir == NULL) {
        perror(argv[1]);
        return 1;
    }
    while ((entry = readdir(dir)) != NULL) {
        char path[4096];

        if (entry->d_name[0] == '.')
            continue;
        (void)snprintf(path, sizeof(path), "%s/%s", argv[1], entry->d_name);
        if (feed(path) != 0) {
            (void)fprintf(stderr, "%s: cannot be read\n", path);
            (void)closedir(dir);
            return 1;
        }
        fed++;
    }
    (void)closedir(dir);
    printf("%zu inputs replayed\n", fed);
    return fed > 0 ? 0 : 1;
}
