/* catalog_store.h - the KPIs that agents declared at registration. */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "features/agents/report_key.h"

struct business_rows;
struct db;
struct list;

/* The report's keys that its agent did not declare, in the order of the report: a list of struct
 * str, in the arena. */
int store_kpis_undeclared(struct db *db, const struct report_key *place,
                          const struct business_rows *rows, struct arena *arena, struct list *ret,
                          struct error *err) MUST_CHECK;
