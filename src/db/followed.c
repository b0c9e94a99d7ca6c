/* followed.c - compares histories first, numbers after. */
#include "db/followed.h"

#include <assert.h>

static bool is_told(const struct db_origin *origin)
{
    return origin->system != 0;
}

bool db_origins_differ(const struct db_origin *a, const struct db_origin *b)
{
    return is_told(a) && is_told(b) &&
           (a->system != b->system || a->timeline != b->timeline || a->started != b->started ||
            a->database != b->database);
}

/* The server of which this may be a later state: the same one, or else the only one there is. */
static struct followed_server *known_server(struct followed *f, const struct db *db)
{
    const int64_t system = db_origin(db).system;

    for (size_t i = 0; i < f->n_servers; i++)
        if (f->servers[i].origin.system == system || !db_is_distributed(db))
            return &f->servers[i];
    return NULL;
}

static void add_server(struct followed *f, const struct db *db, int64_t number)
{
    f->servers[f->next_server] = (struct followed_server){ db_origin(db), number };
    f->next_server = (f->next_server + 1) % FOLLOWED_SERVERS;
    if (f->n_servers < FOLLOWED_SERVERS)
        f->n_servers++;
}

/* Does a number that is smaller than that of the last load come from a copy that is late? And who
 * does not tell where it is from must not undo what came from one who did. */
static bool may_be_late(const struct db *db, const struct followed_server *known, int64_t number)
{
    const struct db_origin origin = db_origin(db);

    if (!db_is_distributed(db))
        return is_told(&known->origin) && !is_told(&origin);
    return origin.timeline == known->origin.timeline &&
           (!is_told(&origin) || number >= known->number);
}

static enum followed_verdict verdict_of(const struct followed *f, const struct db *db,
                                        const struct followed_server *known, int64_t number)
{
    const struct db_origin origin = db_origin(db);

    if (f->number == 0)
        return FOLLOWED_WHOLE;
    if (known != NULL && number < f->number)
        return may_be_late(db, known, number) ? FOLLOWED_HOLDS : FOLLOWED_WHOLE;
    if (known != NULL && db_origins_differ(&known->origin, &origin))
        return FOLLOWED_WHOLE;
    return number > f->number ? FOLLOWED_CHANGED : FOLLOWED_HOLDS; /* also on one more server */
}

enum followed_verdict followed_judge(struct followed *f, const struct db *db, int64_t number)
{
    struct followed_server *known = known_server(f, db);
    const enum followed_verdict verdict = verdict_of(f, db, known, number);

    assert(f->n_servers <= FOLLOWED_SERVERS);
    if (known == NULL && f->number != 0)
        add_server(f, db, number);
    else if (known != NULL && verdict != FOLLOWED_WHOLE)
        known->number = number;
    return verdict;
}

void followed_take(struct followed *f, const struct db *db, int64_t number)
{
    const struct db_origin origin = db_origin(db);
    struct followed_server *known = known_server(f, db);

    if (known == NULL)
        add_server(f, db, number);
    else
        *known = (struct followed_server){
            is_told(&origin) || !is_told(&known->origin) ? origin : known->origin, number
        };
    f->number = number;
}
