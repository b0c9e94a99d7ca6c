/* keyring.h - master keys in locked memory, read from a file or the environment.
 *
 * The file has one key per line, in base64. It holds one key, except during a
 * rotation: then the new key is first and the previous one second, so that
 * after a crash everything sealed with either can be opened.
 *
 * One thread at a time.
 */
#pragma once
#include <stdbool.h>

#include "base/err.h"

enum { MASTER_KEY_BYTES = 32, MASTER_KEYS_MAX = 8 };

#define MASTER_KEY_VARIABLE "MUSTER_MASTER_KEY"

struct keyring {
    uint8_t keys[MASTER_KEYS_MAX][MASTER_KEY_BYTES]; /* newest first */
    size_t n;
    size_t n_live; /* keys in the file; the others only open older data */
};

/* In memory that is neither swapped nor dumped, and wiped by keyring_free(). Empty. */
struct keyring *keyring_new(void);

/* NULL is fine. */
void keyring_free(struct keyring *ring);

/* Adds a random key as the first one. Drops the last one when there are too many. */
void keyring_add(struct keyring *ring);

/* Fills an empty ring. ERR_NOT_FOUND when there is no file; ERR_UNAVAILABLE when others may read
 * it, it belongs to another user, or it holds no keys. */
int keyring_read(struct keyring *ring, const char *path, struct error *err) MUST_CHECK;

/* Replaces the file by one with the first `n` keys, synced; after a crash either the old or the new
 * file is there. */
int keyring_write(const struct keyring *ring, size_t n, const char *path,
                  struct error *err) MUST_CHECK;

/* Appends the keys of `old` that `ring` does not have, as no longer live. */
void keyring_retire(struct keyring *ring, const struct keyring *old);

/* Reads the key from the environment, if it is set, and erases it there. Call before threads start.
 */
int keyring_take_variable(struct error *err) MUST_CHECK;

bool keyring_has_variable(void);

/* Fills an empty ring with the key from the environment; false when it was not set. */
bool keyring_from_variable(struct keyring *ring);
