/* confine.h - takes away from the server's process what a server never needs.
 *
 * Someone who finds a hole in it then holds a process that cannot start programs. Which files it
 * can open is for the service manager or the container to say (packaging/muster.service).
 */
#pragma once
#include "base/err.h"
#include "cli/settings.h"

/* Every command, before anything else: other processes cannot read its memory, it leaves no core
 * file, and it cannot gain rights. Where the system does not allow that, the program runs anyway.
 */
void confine_memory(void);

/* ERR_FORBIDDEN for root outside a container, unless the settings allow it. */
int confine_check_user(const struct settings *settings, struct error *err) MUST_CHECK;

/* Once it runs: logs that it is root, which the settings do not allow but the container does. */
void confine_warn_user(const struct settings *settings);

/* Restricts this thread, and those that it starts, to the system calls of a server. That the kernel
 * cannot do so is logged. */
void confine_server(const struct settings *settings);
