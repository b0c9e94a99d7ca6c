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

/* Learns how far this machine's clock is off, and sets the program's clock right. Once the server
 * of Citus that is no worker was asked, the coordinator, a worker's clock changes nothing, also
 * while the coordinator is away: so nodes of all servers agree. One thread at a time for each kind.
 */
int database_clock_learn(struct db *db, struct error *err) MUST_CHECK;
