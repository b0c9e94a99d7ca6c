/* confine.h - takes away from the server's process what a server never needs.
 *
 * Someone who finds a hole in it then holds a process that can neither start
 * programs nor open files outside its own directories.
 */
#pragma once
#include "base/err.h"
#include "cli/settings.h"

struct arena;

/* Every command, before anything else: other processes cannot read its memory, it leaves no core
 * file, and it cannot gain rights. Where the system does not allow that, the program runs anyway.
 */
void confine_memory(void);

/* ERR_FORBIDDEN for root outside a container, unless the settings allow it. */
int confine_check_user(const struct settings *settings, struct error *err) MUST_CHECK;

/* Once it runs: logs that it is root, which the settings do not allow but the container does. */
void confine_warn_user(const struct settings *settings);

/* Restricts the process to its files and to the system calls of a server. What the kernel cannot do
 * is logged. Before there are threads; the data directory exists. */
void confine_server(const struct settings *settings, struct arena *arena);
