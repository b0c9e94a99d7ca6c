/* price_shapes.h - model prices and their start dates.
 *
 * Thread-safe: tables are const.
 */
#pragma once
#include "api/route.h"
#include "shape/shape.h"

/* Most rows of the platform's price list, and most entries of a file. */
enum { PRICES_MAX = 20000 };

/* Attodollars per token (money.h), the unit that prices are stored and calculated in. */
struct price_amounts {
    int64_t input, output;
    struct opt_int cache_read, cache_write; /* null: same as input */
};

/* A price as operators set it, and an entry of a price file in the muster format. */
struct price_create {
    struct str model, provider;
    struct str input, output;           /* JSON: a number or a decimal string */
    struct str cache_read, cache_write; /* the same; null */
    bool input_includes_cache;
    int64_t valid_from;  /* TIME_NULL: no start date */
    struct list aliases; /* of struct str */

    struct price_amounts amounts; /* the four texts, parsed */
};

/* USD per million tokens, as decimals. */
struct price {
    int64_t price_id;
    struct str model, provider;
    struct str input, output;
    struct str cache_read, cache_write; /* null */
    bool input_includes_cache;
    int64_t valid_from; /* TIME_NULL: no start date */
    struct list aliases;
    int64_t updated_at;
    int64_t built_in_as_of; /* TIME_NULL: a person's */
};

enum price_format { PRICE_LITELLM, PRICE_MUSTER };

struct price_import {
    int format;         /* enum price_format */
    int64_t valid_from; /* for entries without one; TIME_NULL: see import_prices() */
    struct str prices;  /* the file, as JSON */

    struct list entries; /* of struct price_create: the parsed file */
    int64_t skipped;     /* entries without token prices */
};

struct price_imported {
    int64_t added, updated, unchanged, skipped;
};

struct prices_query {
    struct str model; /* null: all */
};

struct price_path {
    int64_t price_id;
};

/* Price files in LiteLLM's format are an object of models, each with USD per token; its numbers are
 * floats, so they are rounded to the 18 decimals that prices have. Our own format is
 * {"prices":[…]}, as answered by the list of prices. A file is always read to the end: all of its
 * problems are reported, and then nothing of it is used. */

/* Fills entries and skipped from the text and the format. */
void price_file_read(struct price_import *import, struct arena *arena, struct problems *problems);

/* The date of a file in the muster format, its member as_of; TIME_NULL without a valid one. */
int64_t price_file_as_of(struct str text, struct arena *arena);

extern const struct shape price_create_shape, price_shape, price_list_shape, price_import_shape,
    price_imported_shape, prices_query_shape, price_path_shape;

extern const struct route price_routes[];
