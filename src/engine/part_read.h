/* part_read.h - a read of a tenant whose server of a distributed database may hang.
 *
 * Such a read keeps its connection for as long as a read may take, and a few
 * tenants of that server would keep all of them. The first that fails finds out
 * why; if the server hangs, others are refused at once.
 */
#pragma once
#include "base/err.h"

struct db;
struct writer;

struct part_read_job {
    struct writer *writer; /* knows which servers hang; NULL: there is one server */
    struct db *db;         /* in no transaction */
    int64_t tenant_id;     /* 0: unknown */
    int64_t began_us;      /* raw clock */
    int64_t until_us;      /* raw clock: how long its caller waits; 0: as long as it takes */
};

/* ERR_UNAVAILABLE: the tenant's server hangs. May wait for it for a few seconds first, if it has
 * hung for a while and this is the read that finds out whether it still does. */
int part_read_begin(struct part_read_job *read, struct error *err) MUST_CHECK;

/* `code` is what the read ended with. After one that was not answered in time it may take a few
 * seconds to find out why. */
void part_read_end(const struct part_read_job *read, enum err_code code);
