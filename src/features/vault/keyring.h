/* keyring.h - master keys: in locked memory, in their file, or from the environment.
 *
 * The file has one key a line, in base64. There is one but while keys are
 * rotated: then the new one stands first and the one before it after it, so
 * that whatever was sealed with either can be opened after a crash.
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
    size_t n_live; /* those that are in the file; the others only open what was read before */
};

/* In memory that is neither swapped nor dumped, and wiped by keyring_free(). Empty. */
struct keyring *keyring_new(void);

/* NULL is fine. */
void keyring_free(struct keyring *ring);

/* A new random key, as the first one. The last one is forgotten when there are too many. */
void keyring_add(struct keyring *ring);

/* Fills an empty ring. ERR_NOT_FOUND when there is no file; ERR_UNAVAILABLE when others may read
 * it, it is not ours, or it holds no keys. */
int keyring_read(struct keyring *ring, const char *path, struct error *err) MUST_CHECK;

/* Replaces the file by one with the first `n` keys, synced; after a crash there is the old one or
 * the new one. */
int keyring_write(const struct keyring *ring, size_t n, const char *path,
                  struct error *err) MUST_CHECK;

/* Keys of `old` that `ring` has not go behind its own, as no longer live. */
void keyring_retire(struct keyring *ring, const struct keyring *old);

/* Takes the key out of the environment, if it is there, and leaves no trace of it. Before there are
 * threads. */
int keyring_take_variable(struct error *err) MUST_CHECK;

bool keyring_has_variable(void);

/* Fills an empty ring with the key that was taken; false when there was none. */
bool keyring_from_variable(struct keyring *ring);
