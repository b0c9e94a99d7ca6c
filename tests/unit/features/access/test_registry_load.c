/* test_registry_load.c - a fleet of keys is loaded in portions; one that is asked for meanwhile is
 * looked for, and none that has ended comes back. */
#include "unit/features/access/registry_world.h"

enum { PORTION = 10000 }; /* as in registry_load.c */

/* The fleet's tenants, and keys of each; key ids are "<tenant>-<n>", in order. The digest of a key
 * is that of its id, as it is for the other keys of a world. */
enum { TENANTS = 3, KEYS = 8000 };
static const char *const slugs[TENANTS] = { "fleet-a", "fleet-b", "fleet-c" };

static void key_name(char room[24], int tenant, int n)
{
    (void)snprintf(room, 24, "%c-%04d", 'a' + tenant, n);
}

static void add_fleet(struct world *w, int keys)
{
    struct error err = { 0 };
    char name[24];

    CHECK(db_begin(w->db, &err) == 0);
    for (int t = 0; t < TENANTS; t++) {
        int64_t tenant_id = add_tenant(w, slugs[t]);

        for (int n = 0; n < keys; n++) {
            key_name(name, t, n);
            add_key(w, tenant_id, name, "bot", TIME_NULL);
        }
    }
    CHECK(db_commit(w->db, &err) == 0);
}

static bool has_key(struct world *w, int tenant, int n)
{
    char name[24];

    key_name(name, tenant, n);
    return find(w, name, clock_wall_us()) != NULL;
}

static int look_for_in(struct world *w, struct db *db, const char *token, struct error *err)
{
    const struct sha256 digest = digest_of(token);

    return registry_look_for(w->registry, db, &digest, err);
}

static bool look_for(struct world *w, const char *token)
{
    struct error err = { 0 };

    if (look_for_in(w, w->db, token, &err) != 0)
        fail_msg("%s", err.text);
    return find(w, token, clock_wall_us()) != NULL;
}

/* As the watcher does it. */
static void load(struct world *w)
{
    struct error err = { 0 };

    if (registry_load(w->registry, w->db, &err) != 0)
        fail_msg("%s", err.text);
}

static void fleet_init(struct world *w)
{
    world_init(w);
    add_fleet(w, KEYS);
    load(w);
}

TEST(a_new_database_has_no_keys_at_first)
{
    struct world w;

    world_init(&w);
    CHECK(db_script(w.db, "DELETE FROM tenants; UPDATE change_numbers SET number = 0", NULL) == 0);
    load(&w);
    CHECK(registry_is_complete(w.registry));
    add_key(&w, add_tenant(&w, "first"), "first-key", NULL, TIME_NULL);
    load(&w);
    CHECK(find(&w, "first-key", NOW) != NULL);
    changed(&w);
    add_fleet(&w, KEYS);
    refresh(&w); /* by its changes, although it is more than a portion */
    CHECK(registry_is_complete(w.registry));
    CHECK(find(&w, "first-key", NOW) != NULL);
    for (int t = 0; t < TENANTS; t++)
        CHECK(has_key(&w, t, 0) && has_key(&w, t, KEYS - 1));
    world_done(&w);
}

TEST(a_fleet_is_loaded_portion_by_portion_and_its_tenants_at_once)
{
    struct world w;
    int64_t version;

    fleet_init(&w);
    version = registry_version(w.registry);
    for (int t = 0; t < TENANTS; t++)
        CHECK(registry_tenant(w.registry, str_of(slugs[t])) != NULL);
    CHECK(!registry_is_complete(w.registry) && registry_has_more(w.registry));
    CHECK(has_key(&w, 0, 0) && has_key(&w, 0, KEYS - 1) && has_key(&w, 1, PORTION - KEYS - 1));
    CHECK(!has_key(&w, 1, PORTION - KEYS));
    load(&w);
    CHECK(!registry_is_complete(w.registry) && registry_has_more(w.registry));
    CHECK(has_key(&w, 1, PORTION - KEYS) && has_key(&w, 2, 2 * (PORTION - KEYS) - 1));
    CHECK(!has_key(&w, 2, KEYS - 1));
    load(&w);
    CHECK(registry_is_complete(w.registry) && !registry_has_more(w.registry));
    CHECK_INT(registry_version(w.registry), version); /* nothing has changed */
    for (int t = 0; t < TENANTS; t++)
        for (int n = 0; n < KEYS; n++)
            CHECK(has_key(&w, t, n));
    world_done(&w);
}

TEST(a_change_does_not_wait_for_a_portion)
{
    struct world w;

    fleet_init(&w);
    changed(&w);
    add_key(&w, w.tenant_id, "fresh", NULL, TIME_NULL);
    CHECK(db_script(w.db,
                    "UPDATE keys SET changed = (SELECT number FROM change_numbers WHERE topic ="
                    " 'registry') WHERE key_id = 'fresh'",
                    NULL) == 0);
    refresh(&w);
    CHECK(find(&w, "fresh", NOW) != NULL);
    CHECK(!has_key(&w, 1, PORTION - KEYS));
    CHECK(!registry_is_complete(w.registry) && registry_has_more(w.registry));
    world_done(&w);
}

TEST(as_many_keys_as_a_portion_has_need_one_more_look)
{
    struct world w;

    world_init(&w);
    add_fleet(&w, PORTION / TENANTS);
    for (int n = TENANTS * (PORTION / TENANTS); n < PORTION; n++) {
        char name[24];

        (void)snprintf(name, sizeof(name), "rest-%d", n);
        add_key(&w, w.tenant_id, name, NULL, TIME_NULL);
    }
    load(&w);
    CHECK(!registry_is_complete(w.registry) && registry_has_more(w.registry));
    load(&w);
    CHECK(registry_is_complete(w.registry) && !registry_has_more(w.registry));
    world_done(&w);
}

TEST(a_key_that_is_looked_for_comes_ahead_of_its_portion)
{
    struct world w;

    fleet_init(&w);
    CHECK(!look_for(&w, "unknown"));
    CHECK(!has_key(&w, 2, KEYS - 1));
    CHECK(look_for(&w, "c-7999"));
    CHECK(!has_key(&w, 2, KEYS - 2));
    CHECK(!registry_is_complete(w.registry));
    CHECK(registry_has_more(w.registry)); /* the walk goes on */
    load(&w);
    load(&w);
    CHECK(registry_is_complete(w.registry) && has_key(&w, 2, KEYS - 2));
    world_done(&w);
}

TEST(what_changes_while_the_fleet_is_loaded_is_known)
{
    struct world w;
    char name[24];

    fleet_init(&w);
    w.tenant_id = registry_tenant(w.registry, STR_LIT("fleet-c"))->id;
    changed(&w);
    key_name(name, 2, KEYS - 1);
    revoke_key(&w, name); /* ahead of the walk */
    rotate(&w, "c-7000", "c-7000-successor");
    load(&w);
    CHECK(!has_key(&w, 2, KEYS - 1));
    CHECK(find(&w, "c-7000", clock_wall_us()) != NULL); /* in its grace */
    CHECK(find(&w, "c-7000-successor", clock_wall_us()) != NULL);
    CHECK(!look_for(&w, name));
    changed(&w);
    add_key(&w, add_tenant(&w, "late"), "late-one", NULL, TIME_NULL);
    load(&w);
    CHECK(registry_is_complete(w.registry));
    CHECK(!has_key(&w, 2, KEYS - 1) && has_key(&w, 2, KEYS - 2));
    CHECK(find(&w, "late-one", NOW) != NULL);
    clock_advance_us(KEY_GRACE_US + 1);
    CHECK(find(&w, "c-7000", clock_wall_us()) == NULL);
    world_done(&w);
}

TEST(a_key_that_ended_and_was_removed_does_not_come_back_with_its_portion)
{
    struct world w;

    fleet_init(&w);
    CHECK(look_for(&w, "c-7999"));
    w.tenant_id = registry_tenant(w.registry, STR_LIT("fleet-c"))->id;
    changed(&w);
    revoke_key(&w, "c-7999");
    refresh(&w);
    CHECK(!has_key(&w, 2, KEYS - 1));
    registry_sweep(w.registry);
    registry_sweep(w.registry);
    CHECK(!knows(&w, "c-7999"));
    CHECK(!look_for(&w, "c-7999"));
    load(&w);
    load(&w);
    CHECK(registry_is_complete(w.registry) && !has_key(&w, 2, KEYS - 1));
    world_done(&w);
}

TEST(a_server_that_is_late_brings_no_keys)
{
    struct error err = { 0 };
    struct db *late;
    struct world w;

    world_init(&w);
    add_fleet(&w, KEYS);
    load(&w);
    late = copy_database(&w, 0);
    late->distributed = true; /* a server of Citus, whose numbers may be late */
    w.tenant_id = registry_tenant(w.registry, STR_LIT("fleet-c"))->id;
    changed(&w);
    revoke_key(&w, "c-7999");
    CHECK(!look_for(&w, "c-7999"));
    CHECK(registry_load(w.registry, late, &err) == 0);
    CHECK(!registry_is_complete(w.registry) && !registry_has_more(w.registry));
    CHECK(look_for_in(&w, late, "c-7999", &err) != 0); /* there it is still good */
    CHECK_INT(err.code, ERR_BUSY);
    CHECK(!has_key(&w, 2, KEYS - 1));
    load(&w);
    CHECK(registry_has_more(w.registry));
    load(&w);
    CHECK(registry_is_complete(w.registry) && !has_key(&w, 2, KEYS - 1));
    db_close(late);
    world_done(&w);
}

TEST(a_load_of_everything_ends_the_walk)
{
    struct world w;

    world_init(&w);
    add_fleet(&w, KEYS);
    load(&w);
    CHECK(!registry_is_complete(w.registry));
    w.db->session = 1; /* a standby took over, and may have lost changes */
    refresh(&w);
    CHECK(registry_is_complete(w.registry) && !registry_has_more(w.registry));
    for (int t = 0; t < TENANTS; t++)
        CHECK(has_key(&w, t, 0) && has_key(&w, t, KEYS - 1));
    world_done(&w);
}

TEST(a_tenant_that_is_deleted_ends_its_keys_and_not_the_walk)
{
    struct world w;
    int64_t tenant_id;

    fleet_init(&w);
    tenant_id = registry_tenant(w.registry, STR_LIT("fleet-a"))->id;
    changed(&w);
    CHECK(tenant_delete(w.db, tenant_id, NOW, NULL) == 0);
    refresh(&w);
    CHECK(registry_tenant(w.registry, STR_LIT("fleet-a")) == NULL);
    CHECK(!has_key(&w, 0, 0) && !has_key(&w, 0, KEYS - 1) && has_key(&w, 1, 0));
    CHECK(!registry_is_complete(w.registry));
    /* a request that was let in before it has made a key meanwhile */
    changed(&w);
    add_key(&w, tenant_id, "too-late", NULL, TIME_NULL);
    load(&w);
    CHECK(!look_for(&w, "too-late"));
    load(&w);
    CHECK(registry_is_complete(w.registry));
    CHECK(has_key(&w, 1, KEYS - 1) && has_key(&w, 2, KEYS - 1));
    CHECK(find(&w, "too-late", NOW) == NULL);
    world_done(&w);
}
