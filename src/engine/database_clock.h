/* database_clock.h - the time by the clock of a database that several machines share.
 *
 * Silences, leases and grace periods are compared with times that other
 * machines stored. A machine whose clock is off would take a punctual agent for
 * silent, so all go by the database's clock: how far the own one is off is
 * learned about once a second.
 */
#pragma once
#include "base/err.h"

struct db;

/* Learns how far this machine's clock is off, and sets the program's clock right. One thread. */
int database_clock_learn(struct db *db, struct error *err) MUST_CHECK;

/* The same by the clock of Citus' coordinator, for a node whose database is a worker, so that nodes
 * of all servers agree. From its first success on database_clock_learn() asks and changes nothing,
 * also while the coordinator is away. One thread, which may be another. */
int database_clock_follow(struct db *coordinator, struct error *err) MUST_CHECK;
