/* retention.h - what other features ask of this one. */
#pragma once
#include "base/base.h"

struct engine;

/* Size of the database when last measured. Any thread. */
int64_t retention_store_bytes(const struct engine *e);
