/* seccomp.h - refuses system calls that a server never makes, enforced by the kernel.
 *
 * Applies to the calling thread and the threads that it starts afterwards.
 */
#pragma once
#include <stdbool.h>

/* Needs no_new_privs. False: the kernel or the processor has no such filter. */
bool seccomp_enforce(void);
