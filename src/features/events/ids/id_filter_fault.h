/* id_filter_fault.h - pages of mapped filters that cannot be read; private to this folder.
 *
 * When the disk fails under a mapping, or a file is cut short, the system sends
 * SIGBUS, which ends a process. Within a filter a page of zeros is put in place
 * instead: its checksums do not match, so it rules nothing out. Anywhere else the
 * signal does what it did before.
 *
 * One thread at a time; the signal may come to any.
 */
#pragma once
#include <stddef.h>

/* A slot to give back, or -1: too many are watched. */
int id_filter_fault_watch(const void *map, size_t size);
void id_filter_fault_forget(int slot);
