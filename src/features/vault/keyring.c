/* keyring.c - reads and writes master keys. */
#include "features/vault/keyring.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sodium.h>

#include "base/str.h"
#include "cli/files.h"

/* A line of the file: 44 digits of base64 and a newline. */
enum { DIGITS = 44, LINE_BYTES = DIGITS + 1, TEXT_MAX = MASTER_KEYS_MAX * LINE_BYTES };

/* The key from the environment, until keyring_from_variable() is called. */
static struct keyring *taken;

struct keyring *keyring_new(void)
{
    struct keyring *ring = sodium_malloc(sizeof(*ring));

    if (ring == NULL)
        err_die("cannot lock memory for the master key");
    sodium_memzero(ring, sizeof(*ring));
    return ring;
}

void keyring_free(struct keyring *ring)
{
    sodium_free(ring);
}

void keyring_add(struct keyring *ring)
{
    size_t kept = ring->n < MASTER_KEYS_MAX ? ring->n : MASTER_KEYS_MAX - 1;

    memmove(ring->keys[1], ring->keys[0], kept * MASTER_KEY_BYTES);
    randombytes_buf(ring->keys[0], MASTER_KEY_BYTES);
    ring->n = kept + 1;
    if (ring->n_live < ring->n)
        ring->n_live++;
}

/* Reads a key from base64, which may end in blanks; false when it is not a key. */
static bool read_key(struct str text, uint8_t key[MASTER_KEY_BYTES])
{
    size_t len = 0;

    return text.len == DIGITS &&
           sodium_base642bin(key, MASTER_KEY_BYTES, text.data, text.len, NULL, &len, NULL,
                             sodium_base64_VARIANT_ORIGINAL) == 0 &&
           len == MASTER_KEY_BYTES;
}

static int read_lines(struct keyring *ring, struct str text, const char *path, struct error *err)
{
    while (!str_is_null(text)) {
        struct str line = str_split(&text, '\n');

        if (line.len == 0 && str_is_null(text) && ring->n > 0)
            break; /* after the last newline */
        if (ring->n == MASTER_KEYS_MAX || !read_key(line, ring->keys[ring->n]))
            return err_set(
                err, ERR_UNAVAILABLE,
                "the master key file '%s' is damaged: it must hold lines of 44 "
                "characters (32 bytes in base64); restore it from its backup, or move it "
                "away if that is lost",
                path);
        ring->n++;
    }
    ring->n_live = ring->n;
    return 0;
}

/* The file must belong to us, and no other user may read it. */
static int check_file(int fd, const char *path, struct error *err)
{
    struct stat status;

    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode))
        return err_set(err, ERR_UNAVAILABLE, "the master key file '%s' is not a file", path);
    if (status.st_uid != geteuid())
        return err_set(err, ERR_UNAVAILABLE,
                       "the master key file '%s' belongs to another user (%u); it must belong to "
                       "the one that muster runs as (%u)",
                       path, (unsigned)status.st_uid, (unsigned)geteuid());
    if ((status.st_mode & 0177) != 0)
        return err_set(err, ERR_UNAVAILABLE,
                       "the master key file '%s' has mode %04o: others may read it; make it 0600 "
                       "(chmod 600), and consider rotating the key (muster vault rotate)",
                       path, (unsigned)(status.st_mode & 07777));
    return 0;
}

int keyring_read(struct keyring *ring, const char *path, struct error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK), r = -1;
    char text[TEXT_MAX + 1];
    ssize_t n;

    if (fd < 0 && errno == ENOENT)
        return err_set(err, ERR_NOT_FOUND,
                       "there is no master key file '%s' (master_key_file); `muster serve` creates "
                       "it at its first start",
                       path);
    if (fd < 0)
        return err_set(err, ERR_UNAVAILABLE, "cannot open the master key file '%s': %s", path,
                       strerror(errno));
    if (check_file(fd, path, err) == 0) {
        n = read(fd, text, sizeof(text));
        if (n < 0)
            (void)err_set(err, ERR_UNAVAILABLE, "cannot read the master key file '%s': %s", path,
                          strerror(errno));
        else
            r = read_lines(ring, str_from(text, (size_t)n), path, err);
        sodium_memzero(text, sizeof(text));
    }
    (void)close(fd);
    return r;
}

int keyring_write(const struct keyring *ring, size_t n, const char *path, struct error *err)
{
    char text[TEXT_MAX + 1];
    struct error why = { 0 };
    int r = 0;

    for (size_t i = 0; i < n; i++) {
        char *line = text + i * LINE_BYTES;

        sodium_bin2base64(line, LINE_BYTES, ring->keys[i], MASTER_KEY_BYTES,
                          sodium_base64_VARIANT_ORIGINAL);
        line[DIGITS] = '\n';
    }
    if (file_replace(path, str_from(text, n * LINE_BYTES), &why) != 0)
        r = err_set(err, ERR_UNAVAILABLE, "the master key file: %s", why.text);
    sodium_memzero(text, sizeof(text));
    return r;
}

static bool has_key(const struct keyring *ring, const uint8_t key[MASTER_KEY_BYTES])
{
    for (size_t i = 0; i < ring->n; i++)
        if (sodium_memcmp(ring->keys[i], key, MASTER_KEY_BYTES) == 0)
            return true;
    return false;
}

void keyring_retire(struct keyring *ring, const struct keyring *old)
{
    for (size_t i = 0; i < old->n && ring->n < MASTER_KEYS_MAX; i++)
        if (!has_key(ring, old->keys[i]))
            memcpy(ring->keys[ring->n++], old->keys[i], MASTER_KEY_BYTES);
}

/* Overwrites the text too, since /proc shows it. */
int keyring_take_variable(struct error *err)
{
    char *text = getenv(MASTER_KEY_VARIABLE);
    bool good;

    if (text == NULL)
        return 0;
    taken = keyring_new();
    good = read_key(str_trim(str_of(text)), taken->keys[0]);
    sodium_memzero(text, strlen(text));
    (void)unsetenv(MASTER_KEY_VARIABLE);
    if (!good)
        return err_set(err, ERR_INVALID,
                       MASTER_KEY_VARIABLE " is not a key: it must be 32 bytes in base64, "
                                           "44 characters");
    taken->n = taken->n_live = 1;
    return 0;
}

bool keyring_has_variable(void)
{
    return taken != NULL && taken->n > 0;
}

bool keyring_from_variable(struct keyring *ring)
{
    if (!keyring_has_variable())
        return false;
    memcpy(ring, taken, sizeof(*ring));
    return true;
}
