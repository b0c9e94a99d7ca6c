/* test_entries.c - a long log is verified in turns, and every entry of it. */
#include "features/audit/audit.h"

#include "features/audit/shapes.h"
#include "unit/temp_db.h"

enum { ENTRIES = 4500, TURNS_MIN = 3, TENANT = 7 };

static const struct db_query forge = {
    .sql = "UPDATE audit_log SET target = 'forged' WHERE seq = $1",
};

struct world {
    struct db *db;
    struct arena arena;
    struct audit_proof proof;
    struct audit_verdict verdict;
    int turns;
};

static void world_init(struct world *w)
{
    const struct audit_entry entry = { .tenant_id = TENANT,
                                       .at = 1,
                                       .actor = STR_LIT("operator"),
                                       .action = STR_LIT("key.add"),
                                       .target = STR_LIT("key_1"),
                                       .origin = STR_LIT("unix") };

    *w = (struct world){ .db = temp_db_open(temp_db_migrated(), DB_WRITER) };
    arena_init(&w->arena);
    CHECK(db_begin(w->db, NULL) == 0);
    for (int i = 0; i < ENTRIES; i++)
        CHECK(audit_add(NULL, w->db, &entry, NULL) == 0);
    CHECK(db_commit(w->db, NULL) == 0);
}

static void world_done(struct world *w)
{
    arena_done(&w->arena);
    db_close(w->db);
}

static void verify(struct world *w)
{
    struct audit_walk *walk = audit_walk_new(&w->arena, TENANT, &w->proof);

    for (w->turns = 0; !audit_walk_is_over(walk); w->turns++)
        CHECK(audit_walk_go_on(walk, w->db, NULL) == 0);
    audit_walk_verdict(walk, &w->verdict);
}

TEST(a_long_log_is_verified_in_turns)
{
    struct world w;

    world_init(&w);
    verify(&w);
    CHECK(w.verdict.ok);
    CHECK_INT(w.verdict.entries, ENTRIES);
    CHECK(w.turns >= TURNS_MIN);
    world_done(&w);
}

TEST(a_forged_entry_is_found_in_whatever_turn)
{
    static const int at[] = { 1, 2000, 2001, ENTRIES };
    struct world w;

    world_init(&w);
    for (size_t i = COUNT_OF(at); i > 0; i--) { /* the first one is what is named */
        CHECK(db_run(w.db, &forge, DB_ARGS(db_int(at[i - 1])), NULL) == 0);
        verify(&w);
        CHECK(!w.verdict.ok);
        CHECK_INT(w.verdict.seq.value, at[i - 1]);
        CHECK_STR(w.verdict.problem, "an entry was changed or moved");
    }
    world_done(&w);
}
