/* logging.c - where the server's log goes, and what it looks like. */
#include "app/logging.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"

/* The index of a name in a list that ends in NULL, or -1. */
static int find_name(const char *const *names, const char *name)
{
    for (int i = 0; names[i] != NULL; i++)
        if (strcmp(names[i], name) == 0)
            return i;
    return -1;
}

/* The file, or -1. */
static int open_file(const char *path, struct error *err)
{
    int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0640);

    if (fd < 0)
        return err_set(err, ERR_INVALID,
                       "log_file: cannot write '%s': %s; give a file in a directory that the "
                       "server's user may write",
                       path, strerror(errno));
    return fd;
}

int logging_start(const struct settings *settings, struct error *err)
{
    static const char *const levels[] = { "debug", "info", "warning", "error", "off", NULL };
    static const char *const formats[] = { "text", "json", NULL };
    int level = find_name(levels, settings->log_level);
    int format = find_name(formats, settings->log_format);
    int fd;

    if (level < 0)
        return err_set(err, ERR_INVALID,
                       "log_level: '%s' is not one of debug, info, warning, error, off",
                       settings->log_level);
    if (format < 0)
        return err_set(err, ERR_INVALID, "log_format: '%s' is not one of text, json",
                       settings->log_format);
    log_set_level((enum log_level)level);
    log_set_format((enum log_format)format);
    if (settings->log_file[0] == '\0')
        return 0;
    fd = open_file(settings->log_file, err);
    if (fd < 0)
        return -1;
    (void)close(fd);
    return 0;
}

static int open_log(const struct settings *settings, struct error *err)
{
    int fd;

    if (settings->log_file[0] == '\0')
        return 0;
    fd = open_file(settings->log_file, err);
    if (fd < 0)
        return -1;
    (void)dup2(fd, STDERR_FILENO); /* a line is one write: it goes to the old file or to the new */
    (void)close(fd);
    return 0;
}

void logging_reopen(const struct settings *settings)
{
    struct error err = { 0 };

    if (open_log(settings, &err) != 0)
        log_write(LOG_ERROR, "log", "the log was not opened: %s", err.text);
}
