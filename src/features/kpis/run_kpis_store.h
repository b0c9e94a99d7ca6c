/* run_kpis_store.h - the values that one run reported. */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "shape/shape.h"

struct db;

/* At most RUN_KPIS_MAX, by agent and key: a list of struct run_kpi (shapes.h), in the arena. */
int store_run_kpis(struct db *db, int64_t tenant_id, struct str run_id, struct arena *arena,
                   struct list *ret, struct error *err) MUST_CHECK;
