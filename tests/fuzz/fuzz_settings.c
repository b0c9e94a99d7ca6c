/* fuzz_settings.c - any bytes as a settings file: refused by a sentence, or all values in range. */
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cli/settings.h"
#include "fuzz.h"

static void check_ranges(const struct settings *settings)
{
    for (size_t i = 0; i < n_settings; i++) {
        const struct setting *s = &settings_table[i];
        int64_t number;

        if (s->type != SETTING_NUMBER)
            continue;
        memcpy(&number, (const char *)settings + s->offset, sizeof(number));
        FUZZ_CHECK(number >= s->least && number <= s->most);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct setting_flag config = { .name = "config" };
    struct error err = { 0 };
    struct settings settings;
    struct arena arena;
    char path[64];
    int fd = memfd_create("settings", MFD_CLOEXEC);

    FUZZ_CHECK(fd >= 0 && write(fd, data, size) == (ssize_t)size && lseek(fd, 0, SEEK_SET) == 0);
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    config.value = path;
    arena_init(&arena);
    if (settings_read(&config, 1, &arena, &settings, &err) == 0)
        check_ranges(&settings);
    else
        FUZZ_CHECK(err.code == ERR_INVALID && err.text[0] != '\0');
    arena_done(&arena);
    (void)close(fd);
    return 0;
}
