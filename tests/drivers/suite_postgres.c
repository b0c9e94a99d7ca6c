/* suite_postgres.c - each database is one of the server that MUSTER_TEST_POSTGRES names. */
#include <stdio.h>
#include <stdlib.h>

#include "suite.h"

static const char *server_url(void)
{
    const char *url = getenv("MUSTER_TEST_POSTGRES"); /* NOLINT(concurrency-mt-unsafe) */

    if (url == NULL)
        fail_msg("run this by tests/drivers/with_postgres");
    return url;
}

/* Nothing drops it: the server itself goes away after the tests. */
const char *suite_new_database(void)
{
    static char url[256];
    static int n;
    struct db *server = suite_open(server_url(), DB_WRITER);
    char sql[64];

    (void)snprintf(sql, sizeof(sql), "CREATE DATABASE drivers_%d", ++n);
    suite_script(server, sql);
    db_close(server);
    (void)snprintf(url, sizeof(url), "%.*s/drivers_%d",
                   (int)(strrchr(server_url(), '/') - server_url()), server_url(), n);
    return url;
}
