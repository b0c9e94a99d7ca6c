/* feature.h - a feature as one const value: what it serves, and its life in the process.
 *
 * app/features.c lists the features. The engine starts them in that order, ticks
 * them once a second and stops them in reverse; the API serves their routes and
 * the command line their commands.
 *
 * Thread-safe: tables are const.
 */
#pragma once
#include "base/base.h"

struct command;
struct route;

enum { FEATURE_TABLES_MAX = 8 };

struct feature {
    const char *name; /* of its folder in src/features */

    /* Tables, each ended by a row of zeros; the first NULL ends the list. */
    const struct route *routes[FEATURE_TABLES_MAX];
    const struct command *commands[FEATURE_TABLES_MAX];
};
