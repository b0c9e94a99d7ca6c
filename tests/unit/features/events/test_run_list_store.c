/* test_run_list_store.c - pages of runs that a filter leaves: bounded, and none is lost between. */
#include "features/events/run_list.h"

#include "base/buf.h"
#include "unit/features/events/log_world.h"

#define ID "00000000-0000-0000-0000-0000000000"

static const struct run_filter all = { .bytes = MIB(16),
                                       .after = { INT64_MAX, STR_INIT("") },
                                       .since = INT64_MIN,
                                       .until = INT64_MAX,
                                       .status = -1,
                                       .limit = 1000,
                                       .scan_max = 1000 };

/* An event of the run whose id ends in `id`. */
static void add_event(struct log_world *w, const char *id, int64_t timestamp, enum run_event event,
                      const char *workflow)
{
    const struct telemetry_event e = { .event_id = STR_LIT(""),
                                       .run_id = arena_printf(&w->arena, ID "%s", id),
                                       .event = (int)event,
                                       .timestamp = timestamp,
                                       .agent_version = STR_LIT(""),
                                       .workflow_run_id = str_of(workflow),
                                       .message = STR_LIT(""),
                                       .level = STR_LIT("info"),
                                       .category = STR_LIT(""),
                                       .source = STR_LIT("") };

    CHECK(log_add_one(w, 1, &e));
}

static struct run_page page_of(struct log_world *w, const struct run_filter *filter)
{
    struct run_filter mine = *filter;
    struct error err = { 0 };
    struct run_page page;

    mine.tenant_id = w->tenant_id;
    log_must(run_list_find(w->db, &mine, &w->arena, &page, &err), &err);
    CHECK(page.runs.n <= (size_t)filter->limit);
    return page;
}

/* Walks the whole list by pages; returns how many. */
static size_t walk(struct log_world *w, struct run_filter filter, struct str *ret)
{
    struct str seen = STR_LIT("");
    struct run_page page;
    size_t pages = 0;

    do {
        page = page_of(w, &filter);
        for (size_t i = 0; i < page.runs.n; i++)
            seen = arena_printf(&w->arena, "%.*s %s", STR_ARG(seen),
                                ((const struct run_found *)page.runs.items)[i].run_id.data +
                                    sizeof(ID) - 1);
        CHECK(page.runs.n == 0 || page.end.start_at <= filter.after.start_at);
        filter.after = page.end;
        pages++;
        CHECK(pages < 100);
    } while (page.more);
    *ret = seen;
    return pages;
}

/* One page reads at most that number of runs; the next pages have the others. */
TEST(a_filter_that_fits_few_runs_is_answered_in_bounded_pages)
{
    static const struct {
        int64_t scan_max, limit;
        size_t pages;
    } rows[] = { { 4, 50, 6 }, { 5, 50, 5 }, { 21, 50, 1 }, { 20, 50, 2 }, { 1, 50, 21 },
                 { 8, 1, 3 },  { 21, 1, 3 }, { 21, 2, 2 },  { 21, 3, 1 } };
    struct log_world w;
    struct str seen;

    log_world_init(&w);
    for (int i = 0; i < 20; i++) {
        char id[] = { (char)('0' + i / 10), (char)('0' + i % 10), 0 };

        add_event(&w, id, 7, i % 9 == 1 ? EVENT_FAILED : EVENT_COMPLETED, NULL);
    }
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct run_filter filter = all;

        filter.status = RUN_FAILED;
        filter.scan_max = rows[i].scan_max;
        filter.limit = rows[i].limit;
        CHECK_INT(walk(&w, filter, &seen), rows[i].pages);
        CHECK_STR(seen, " 19 10 01");
    }
    log_world_done(&w);
}

/* What is sorted outside of the database: no more runs are read, and no more loaded, than allowed.
 */
TEST(candidates_are_the_newest_that_match_and_are_loaded_as_far_as_they_fit)
{
    static const struct {
        int64_t scan_max;
        size_t found;
        bool cut;
    } rows[] = { { 1000, 10, false }, { 6, 3, true }, { 1, 1, true } };
    static const struct {
        int64_t limit;
        size_t bytes, loaded;
    } loads[] = { { 1000, MIB(16), 10 }, { 4, MIB(16), 4 }, { 1000, 1, 1 }, { 1000, 1500, 3 } };
    struct run_filter filter = all;
    struct run_candidates found;
    struct error err = { 0 };
    struct log_world w;

    log_world_init(&w);
    for (int i = 0; i < 20; i++) {
        char id[] = { (char)('0' + i / 10), (char)('0' + i % 10), 0 };

        add_event(&w, id, i, i % 2 == 1 ? EVENT_FAILED : EVENT_COMPLETED, NULL);
    }
    filter.tenant_id = w.tenant_id;
    filter.status = RUN_FAILED;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        filter.scan_max = rows[i].scan_max;
        log_must(run_list_candidates(w.db, &filter, &w.arena, &found, &err), &err);
        CHECK_INT(found.n, rows[i].found);
        CHECK_INT(found.cut, rows[i].cut);
        CHECK_STR(found.runs[0].run_id, ID "19");
    }
    filter.scan_max = 1000;
    log_must(run_list_candidates(w.db, &filter, &w.arena, &found, &err), &err);
    for (size_t i = 0; i < COUNT_OF(loads); i++) {
        struct run_page page;

        found.bytes = loads[i].bytes;
        log_must(run_list_load(w.db, &found, loads[i].limit, &w.arena, &page, &err), &err);
        CHECK_INT(page.runs.n, loads[i].loaded);
    }
    log_world_done(&w);
}

static bool add_detail(void *ctx, const struct db_row *row)
{
    buf_add(ctx, db_get_text(row, 3));
    buf_add_char(ctx, '\n');
    return true;
}

/* The whole keyset is looked up in the index, and nothing is sorted. */
TEST(pages_are_read_from_the_index_in_its_order)
{
    static const char range[] =
        " (tenant_id=? AND (start_at,run_id)>(?,?) AND (start_at,run_id)<(?,?))";
    static struct db_query explain[2];
    const struct db_query *queries[] = { &run_list_page, &run_list_floor };
    const struct db_args args = DB_ARGS(db_int(1), db_int(9), db_text(STR_LIT("")), db_int(1),
                                        db_text(STR_LIT("")), db_int(51));
    struct error err = { 0 };
    struct log_world w;
    struct buf plan;

    log_world_init(&w);
    buf_init(&plan, KIB(4));
    for (size_t i = 0; i < COUNT_OF(queries); i++) {
        explain[i] = (struct db_query){
            .sql = arena_printf(&w.arena, "EXPLAIN QUERY PLAN %s", queries[i]->sql).data,
        };
        log_must(db_exec(w.db, &explain[i], args, add_detail, &plan, &err), &err);
    }
    CHECK_STR(buf_str(&plan), arena_printf(&w.arena,
                                           "SEARCH r USING INDEX runs_start%s\n"
                                           "SEARCH a USING INTEGER PRIMARY KEY (rowid=?)\n"
                                           "SEARCH r USING COVERING INDEX runs_start%s\n",
                                           range, range)
                                  .data);
    buf_done(&plan);
    log_world_done(&w);
}
