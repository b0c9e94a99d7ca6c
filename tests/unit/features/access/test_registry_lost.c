/* test_registry_lost.c - a standby that was behind takes over, or a backup is put back: the
 * registry follows a database that has lost changes, and none that only lags. */
#include "features/access/keys.h"
#include "unit/features/access/registry_world.h"

/* The connections of a test: those of its start, and those that were made again. */
enum { FIRST = 1, AGAIN = 2 };

static void server_init(struct world *w)
{
    world_init(w);
    w->db->session = FIRST;
    add_key(w, w->tenant_id, "one", NULL, TIME_NULL);
    add_key(w, w->tenant_id, "two", NULL, TIME_NULL);
    refresh(w);
}

/* From now on the copy is the database. */
static void take_over(struct world *w, struct db *copy, int64_t session)
{
    db_close(w->db);
    w->db = copy;
    w->db->session = session;
}

static bool is_good(struct world *w, const char *token)
{
    return find(w, token, clock_wall_us()) != NULL;
}

static void end_key(struct world *w, const char *token)
{
    changed(w);
    revoke_key(w, token);
}

TEST(a_key_revoked_after_a_loss_is_refused_whatever_its_number_is)
{
    static const int others[] = { 0, 1, 2, 3, 4 }; /* changes on other nodes before it is looked */

    for (size_t i = 0; i < COUNT_OF(others); i++) {
        struct db *standby;
        struct world w;

        server_init(&w);
        standby = copy_database(&w, FIRST);
        for (int lost = 0; lost < 3; lost++)
            changed(&w);
        refresh(&w);
        take_over(&w, standby, AGAIN);
        end_key(&w, "one");
        for (int n = 0; n < others[i]; n++)
            changed(&w);
        CHECK(is_good(&w, "one"));
        refresh(&w);
        CHECK(!is_good(&w, "one") && is_good(&w, "two"));
        end_key(&w, "two");
        refresh(&w);
        CHECK(!is_good(&w, "two"));
        world_done(&w);
    }
}

TEST(what_was_lost_is_as_if_it_had_not_been)
{
    struct tenant_row row = {
        .slug = STR_LIT("acme"), .name = STR_LIT(""), .max_agents = 70, .rate_limit = 110
    };
    struct db *standby;
    struct world w;

    server_init(&w);
    rotate(&w, "two", "three");
    refresh(&w);
    standby = copy_database(&w, FIRST);
    end_key(&w, "three");
    add_key(&w, w.tenant_id, "new", NULL, TIME_NULL);
    rotate(&w, "one", "four");
    CHECK(tenant_set(w.db, &row, NULL) == 0);
    refresh(&w);
    CHECK(is_good(&w, "new") && !is_good(&w, "three"));
    take_over(&w, standby, AGAIN);
    refresh(&w);
    CHECK(!is_good(&w, "new") && !is_good(&w, "four"));
    CHECK(is_good(&w, "three") && is_good(&w, "two"));
    CHECK_INT(atomic_load(&registry_tenant(w.registry, STR_LIT("acme"))->max_agents), 7);
    clock_advance_us(KEY_GRACE_US);
    CHECK(!is_good(&w, "two")); /* was rotated before */
    CHECK(is_good(&w, "one"));  /* and this one never */
    world_done(&w);
}

/* Else a later rotation would replace a key that is in use. */
TEST(a_first_use_that_was_lost_is_stored_again)
{
    struct db *standby;
    struct world w;
    bool good;

    server_init(&w);
    rotate(&w, "one", "successor");
    refresh(&w);
    CHECK(!key_use_is_noted(find(&w, "successor", NOW)->use));
    standby = copy_database(&w, FIRST);
    changed(&w);
    CHECK(key_first_used(w.db, w.tenant_id, STR_LIT("successor"), NOW, &good, NULL) == 0);
    CHECK(db_script(w.db, "UPDATE keys SET changed = " CHANGE_NUMBER, NULL) == 0);
    refresh(&w);
    CHECK(key_use_is_noted(find(&w, "successor", NOW)->use));
    take_over(&w, standby, AGAIN);
    refresh(&w);
    CHECK(!key_use_is_noted(find(&w, "successor", NOW)->use));
    world_done(&w);
}

TEST(a_tenant_that_was_lost_leaves_its_name_and_its_number_to_another)
{
    struct db *standby;
    int64_t lost, other;
    struct world w;

    server_init(&w);
    standby = copy_database(&w, FIRST);
    lost = add_tenant(&w, "lost");
    add_key(&w, lost, "of the lost", NULL, TIME_NULL);
    refresh(&w);
    CHECK(is_good(&w, "of the lost"));
    take_over(&w, standby, AGAIN);
    other = add_tenant(&w, "other");
    CHECK_INT(other, lost);
    add_key(&w, other, "of the other", NULL, TIME_NULL);
    refresh(&w);
    CHECK(registry_tenant(w.registry, STR_LIT("lost")) == NULL && !is_good(&w, "of the lost"));
    CHECK_STR(registry_tenant_by_id(w.registry, other)->slug, "other");
    CHECK_STR(find(&w, "of the other", NOW)->tenant->slug, "other");
    world_done(&w);
}

TEST(the_keys_of_a_tenant_whose_deletion_was_lost_follow_its_plan)
{
    struct tenant_row row = {
        .slug = STR_LIT("acme"), .name = STR_LIT(""), .max_agents = 70, .rate_limit = 110
    };
    struct db *standby;
    struct world w;

    server_init(&w);
    standby = copy_database(&w, FIRST);
    changed(&w);
    CHECK(tenant_delete(w.db, w.tenant_id, NOW, NULL) == 0);
    CHECK(registry_reload(w.db, NULL) == 0);
    refresh(&w);
    CHECK(registry_tenant(w.registry, STR_LIT("acme")) == NULL && !is_good(&w, "one"));
    take_over(&w, standby, AGAIN);
    refresh(&w);
    changed(&w);
    CHECK(tenant_set(w.db, &row, NULL) == 0);
    refresh(&w);
    CHECK(is_good(&w, "one"));
    CHECK_INT(atomic_load(&find(&w, "one", NOW)->tenant->max_agents), 70);
    registry_sweep(w.registry); /* frees the entries from before; the sanitizers would tell */
    registry_sweep(w.registry);
    world_done(&w);
}

/* By another connection, and with no sign but the number, as in SQLite. */
TEST(a_backup_that_was_put_back_is_noticed)
{
    static const int64_t restored[] = { AGAIN, FIRST };

    for (size_t i = 0; i < COUNT_OF(restored); i++) {
        struct db *backup;
        struct world w;

        server_init(&w);
        backup = copy_database(&w, FIRST);
        end_key(&w, "one");
        changed(&w);
        refresh(&w);
        take_over(&w, backup, restored[i]);
        end_key(&w, "two");
        refresh(&w);
        CHECK(is_good(&w, "one") && !is_good(&w, "two"));
        world_done(&w);
    }
}

TEST(without_a_sign_of_a_loss_only_what_changed_is_loaded)
{
    struct world w;

    server_init(&w);
    add_key(&w, w.tenant_id, "silent", NULL, TIME_NULL);
    for (int i = 0; i < 3; i++) {
        changed(&w);
        refresh(&w);
        CHECK(!is_good(&w, "silent")); /* its row does not say that it changed */
    }
    w.db->session = AGAIN;
    refresh(&w);
    CHECK(is_good(&w, "silent"));
    world_done(&w);
}

/* What was found for one version must not be taken for that of another with its number. */
TEST(versions_grow_though_numbers_do_not)
{
    struct db *standby;
    int64_t number, version;
    struct world w;

    server_init(&w);
    standby = copy_database(&w, FIRST);
    changed(&w);
    refresh(&w);
    number = registry_number(w.registry);
    version = registry_version(w.registry);
    take_over(&w, standby, AGAIN);
    changed(&w);
    refresh(&w);
    CHECK_INT(registry_number(w.registry), number);
    CHECK_INT(registry_version(w.registry), version + 1);
    world_done(&w);
}
