/* run_cache.c - a hash table with one slot per hash, in which the newest run replaces the last. */
#include "features/events/run_cache.h"

#include <assert.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/uuid.h"

enum {
    SLOTS_N = 8192,
    TEXT_MAX = 2048, /* bytes of all strings of a run; runs with more are not cached */
    STRINGS = 7,     /* list_strings(): six strings and a NULL */
};

/* A string that list_strings() does not list would stay in memory that is freed. */
static_assert(
    sizeof(struct run_state) == (STRINGS - 1) * sizeof(struct str) + 3 * sizeof(struct run_moment) +
                                    2 * sizeof(struct opt_int) + 5 * sizeof(int64_t),
    "struct run_state has changed: list a new string in list_strings(), then mend this sum");

struct slot {
    uint64_t hash;
    int64_t tenant_id, run_no; /* run_no 0: free */
    char run_id[UUID_TEXT_LEN];
    struct run_state state; /* its strings are in `text` */
    char *text;
    size_t text_room;
};

struct run_cache {
    struct slot *slots; /* allocated with the first run */
};

struct run_cache *run_cache_new(void)
{
    return NEW(struct run_cache);
}

void run_cache_free(struct run_cache *c)
{
    if (c == NULL)
        return;
    for (size_t i = 0; c->slots != NULL && i < SLOTS_N; i++)
        free(c->slots[i].text);
    free(c->slots);
    free(c);
}

void run_cache_clear(struct run_cache *c)
{
    for (size_t i = 0; c->slots != NULL && i < SLOTS_N; i++)
        c->slots[i].run_no = 0;
}

static void list_strings(struct run_state *s, struct str *ret[STRINGS])
{
    ret[0] = &s->workflow_run_id;
    ret[1] = &s->error_type;
    ret[2] = &s->error_message;
    ret[3] = &s->closing_message;
    ret[4] = &s->step_message;
    ret[5] = &s->agent_version;
    ret[6] = NULL;
}

/* Copies the strings of `s` to `text`, one after another, and points `s` to the copies. */
static void move_strings(struct run_state *s, char *text)
{
    struct str *strings[STRINGS];

    list_strings(s, strings);
    for (size_t i = 0; strings[i] != NULL; i++) {
        if (str_is_null(*strings[i]))
            continue;
        memcpy(text, strings[i]->data, strings[i]->len);
        strings[i]->data = text;
        text += strings[i]->len;
    }
}

static size_t text_size(struct run_state s)
{
    struct str *strings[STRINGS];
    size_t size = 0;

    list_strings(&s, strings);
    for (size_t i = 0; strings[i] != NULL; i++)
        size += strings[i]->len;
    return size;
}

/* NULL when the run is not cached. */
static struct slot *find_slot(const struct run_cache *c, const struct run_cache_key *key)
{
    struct slot *p;

    if (c->slots == NULL)
        return NULL;
    p = &c->slots[key->hash % SLOTS_N];
    if (p->run_no == 0 || p->hash != key->hash || p->tenant_id != key->tenant_id ||
        !str_eq(str_from(p->run_id, UUID_TEXT_LEN), key->run_id))
        return NULL;
    return p;
}

void run_cache_remove(struct run_cache *c, const struct run_cache_key *key)
{
    struct slot *p = find_slot(c, key);

    if (p != NULL)
        p->run_no = 0;
}

int64_t run_cache_get(const struct run_cache *c, const struct run_cache_key *key,
                      struct arena *arena, struct run_state *ret)
{
    const struct slot *p = find_slot(c, key);

    if (p == NULL)
        return 0;
    *ret = p->state;
    move_strings(ret, arena_alloc(arena, text_size(*ret)));
    return p->run_no;
}

void run_cache_put(struct run_cache *c, const struct run_cache_key *key, int64_t run_no,
                   const struct run_state *state)
{
    size_t size = text_size(*state);
    struct slot *p;

    if (c->slots == NULL)
        c->slots = mem_new(SLOTS_N * sizeof(*c->slots));
    p = &c->slots[key->hash % SLOTS_N];
    assert(run_no > 0); /* 0 marks a free place */
    p->run_no = 0;
    if (size > TEXT_MAX || key->run_id.len != UUID_TEXT_LEN)
        return;
    if (size >= p->text_room) { /* never 0 bytes: empty strings need an address too */
        free(p->text);
        p->text_room = size + 1;
        p->text = mem_new(p->text_room);
    }
    p->hash = key->hash;
    p->tenant_id = key->tenant_id;
    memcpy(p->run_id, key->run_id.data, UUID_TEXT_LEN);
    p->state = *state;
    ASSERT_ALWAYS(size < p->text_room);
    move_strings(&p->state, p->text);
    p->run_no = run_no;
}
