/* price_shapes.h - what a model's tokens cost, and from when on.
 *
 * Thread-safe: tables are const.
 */
#pragma once
#include "shape/shape.h"

/* Rows of the platform's price list, and entries of a file. */
enum { PRICES_MAX = 20000 };

/* Attodollars for a token (money.h): what prices are kept and reckoned in. */
struct price_amounts {
    int64_t input, output;
    struct opt_int cache_read, cache_write; /* none: the input's */
};

/* A price as operators set it, and as an entry of a file in our own form. */
struct price_create {
    struct str model, provider;
    struct str input, output;           /* JSON: a number or a decimal in a string */
    struct str cache_read, cache_write; /* likewise; null */
    bool input_includes_cache;
    int64_t valid_from;  /* TIME_NULL: since ever */
    struct list aliases; /* of struct str */

    struct price_amounts amounts; /* what the four texts mean */
};

/* USD for a million tokens, as decimals. */
struct price {
    int64_t price_id;
    struct str model, provider;
    struct str input, output;
    struct str cache_read, cache_write; /* null */
    bool input_includes_cache;
    int64_t valid_from; /* TIME_NULL: since ever */
    struct list aliases;
    int64_t updated_at;
};

struct price_list {
    struct list prices; /* of struct price */
};

enum price_format { PRICE_LITELLM, PRICE_MUSTER };

struct price_import {
    int format;         /* enum price_format */
    int64_t valid_from; /* of entries that do not say; TIME_NULL: see price_file.h */
    struct str prices;  /* the file, as JSON */

    struct list entries; /* of struct price_create: what is in it */
    int64_t skipped;     /* entries without prices of tokens */
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

extern const struct shape price_create_shape;   /* "PriceCreate" */
extern const struct shape price_shape;          /* "Price" */
extern const struct shape price_list_shape;     /* "PriceList" */
extern const struct shape price_import_shape;   /* "PriceImport" */
extern const struct shape price_imported_shape; /* "PriceImported" */
extern const struct shape prices_query_shape;   /* "PricesQuery" */
extern const struct shape price_path_shape;     /* "PricePath" */
