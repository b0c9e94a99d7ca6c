/* threshold_watch.c - evaluates rules with a limit in rounds, and the job that opens and closes
 * their alerts.
 *
 * Once a minute; nothing is evaluated for some minutes after the epoch, so that
 * delayed reports can arrive first.
 *
 * Invariants:
 *  1. While `busy`, all fields below it belong to the one running job: first on
 *     a reader, then on the writer.
 *  2. A round goes in circles through the tenants that have such rules, with a
 *     turn of TURN_MS for each, until all are done: slow rules of one tenant
 *     delay the others by one turn. A job that fails ends the round.
 *  3. A rule has RULE_MS; one that takes longer fails, and those after it go on.
 *     A tenant has TENANT_MS in a round, and then goes on in the next round
 *     where it stopped.
 *  4. Alerts that open or close end a turn at CHANGES_MAX, for they must not be
 *     lost. New values of alerts that stay open end none and take no room of
 *     these: a stop of one tenant's agents does not wait for others' values.
 */
#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "db/db.h"
#include "db/servers.h"
#include "engine/readers.h"
#include "features/alerts/alerts.h"
#include "features/alerts/rules.h"
#include "features/alerts/store.h"
#include "features/alerts/watch.h"
#include "shape/rows.h"

enum {
    PERIOD_S = 60,    /* between the starts of two rounds */
    WARMUP_S = 600,   /* after the epoch, before rules are evaluated */
    SLICE_MS = 200,   /* time per tick; the rest is left to the next one */
    TURN_MS = 20,     /* time per tenant and turn; the rule that exceeds it is finished */
    RULE_MS = 1000,   /* time per rule */
    TENANT_MS = 2000, /* time per tenant and round; the rule that exceeds it is finished */
    CHANGES_MAX = 20, /* alerts that open or close per tick, and so per transaction; those of a
                       * rule are one */
    UPDATES_MAX = 20, /* of alerts that stay open, besides: those left out wait for a later round */
};

/* A request to the writer: close the open alert, open one, or both, when the new period is over its
 * budget as the last one was; or bring the open alert's value up to date. */
struct transition {
    int64_t tenant_id, version; /* of the rules that were evaluated */
    size_t rule;                /* its position among the tenant's */
    struct rule_eval eval;
    struct str agent_name; /* STR_NULL: not about one agent */
    struct str alert_id;   /* of the open alert; STR_NULL: no alert is open */
    bool updates;          /* it stays open, with another value */
};

/* A tenant in a round. */
struct tenant_turn {
    int64_t tenant_id, version; /* of its rules */
    size_t rule;                /* the next one */
    int64_t spent_us;
    bool done;
};

struct thresholds {
    struct watching w;
    int64_t round_us; /* monotonic: when the last round began */
    bool in_round;

    struct reader_job read;
    struct rows transitions; /* in the arena */
    size_t n_changes, n_updates;
    uint64_t rounds;
    bool is_loaded; /* the tenants of this round are */
    struct tenant_turn *turns;
    size_t n_turns, n_left; /* and how many of them are not done */
    size_t next;            /* whose turn it is */
    int64_t now_us;
    struct error failure; /* of the last rule or tenant that failed; ERR_NONE: no failure */
};

static void thresholds_begin(struct watching *w, const struct tick *now)
{
    CONTAINER_OF(w, struct thresholds, w)->round_us = now->mono_us;
}

static void thresholds_end(struct watching *w)
{
    free(CONTAINER_OF(w, struct thresholds, w)->turns);
}

/* The rule's open alert, or NULL. */
static const struct alert_row *find_open(const struct list *open, const struct rule_eval *eval)
{
    const struct alert_row *alerts = open->items;

    for (size_t i = 0; i < open->n; i++)
        if (str_eq(alerts[i].type, eval->type) && str_eq(alerts[i].subject, eval->subject))
            return &alerts[i];
    return NULL;
}

/* Is the open alert about a period that has ended? */
static bool is_of_earlier_period(const struct alert_row *open, const struct rule_eval *eval)
{
    return eval->until_at != TIME_NULL && open->since_at < eval->since_at;
}

static bool is_unchanged(const struct alert_row *open, const struct rule_eval *eval)
{
    if (open == NULL)
        return !eval->crossed;
    if (eval->until_at != TIME_NULL && open->since_at > eval->since_at)
        return true; /* of a later period: opened by a process whose clock is ahead */
    return eval->crossed && !is_of_earlier_period(open, eval);
}

static void add_transition(struct thresholds *b, const struct transition *t,
                           const struct list *open)
{
    const struct rule_eval *eval = &t->eval;
    const struct alert_row *alert = find_open(open, eval);
    const bool unchanged = is_unchanged(alert, eval);
    const bool updates = alert != NULL && eval->known && eval->crossed && unchanged &&
                         !str_eq(alert->detail, eval->detail);
    /* a period that has ended is over, whatever is known of the one that began */
    const bool known = eval->known || (alert != NULL && is_of_earlier_period(alert, eval));
    struct transition *added;

    if (!known || (unchanged && !updates))
        return;
    added = rows_add(&b->transitions);
    *added = *t;
    added->alert_id = alert == NULL ? STR_NULL : alert->alert_id;
    added->updates = updates;
    *(updates ? &b->n_updates : &b->n_changes) += 1;
}

/* A rule that fails does not keep those after it from being evaluated. */
static int eval_rule(struct thresholds *b, const struct rule_eval_reader *reader,
                     const struct limit_rule *limit, struct transition *t, struct error *err)
{
    struct error failure = { 0 };

    t->eval = (struct rule_eval){ .known = false };
    t->agent_name = limit->agent_name;
    if (limit->paused || limit->eval(reader, limit->rule, &t->eval, &failure) == 0)
        return 0;
    t->eval = (struct rule_eval){ .known = false };
    if (failure.code == ERR_UNAVAILABLE)
        return err_set(err, ERR_UNAVAILABLE, "%s", failure.text);
    err_set(&b->failure, failure.code, "rule %zu of tenant %lld: %s", t->rule + 1,
            (long long)t->tenant_id, failure.text);
    return 0;
}

/* From the turn's rule on, which is then the next one; 0: all were evaluated. */
static int take_turn(struct thresholds *b, struct db *db, struct tenant_turn *turn,
                     struct error *err)
{
    const int64_t until_us = clock_raw_us() + (int64_t)TURN_MS * USEC_PER_MSEC;
    const struct rule_eval_reader reader = { db, b->w.env.prices, turn->tenant_id, b->now_us,
                                             &b->w.arena };
    const struct limit_rule *limits;
    struct alert_rules_row row;
    struct alert_rules rules;
    struct list open, list;
    size_t first;

    if (alert_store_rules_get(db, turn->tenant_id, &b->w.arena, &row, err) != 0 ||
        alert_rules_read(&row, &b->w.arena, &rules, err) != 0 ||
        alert_store_of_thresholds(db, turn->tenant_id, &b->w.arena, &open, err) != 0)
        return -1;
    if (row.version != turn->version) /* replaced since */
        turn->rule = 0;
    turn->version = row.version;
    list = alert_rules_limits(&rules, &b->w.arena);
    limits = list.items;
    first = turn->rule;
    for (size_t i = first; i < list.n; i++) {
        struct transition t = { .tenant_id = turn->tenant_id, .version = row.version, .rule = i };

        turn->rule = i;
        /* a turn has one rule at least */
        if (i > first && (clock_raw_us() >= until_us || b->n_changes >= CHANGES_MAX))
            return 0;
        if (eval_rule(b, &reader, &limits[i], &t, err) != 0)
            return -1;
        add_transition(b, &t, &open);
    }
    turn->rule = 0;
    return 0;
}

/* A tenant whose rules cannot be read does not keep the others from being evaluated. */
static int turn_or_note(struct thresholds *b, struct db *db, struct tenant_turn *turn,
                        struct error *err)
{
    const int64_t began_us = clock_raw_us();
    struct error failure = { 0 };

    if (take_turn(b, db, turn, &failure) != 0) {
        if (failure.code == ERR_UNAVAILABLE)
            return err_set(err, ERR_UNAVAILABLE, "%s", failure.text);
        b->failure = failure;
        turn->rule = 0;
    }
    turn->spent_us += clock_raw_us() - began_us;
    turn->done = turn->rule == 0 || turn->spent_us >= (int64_t)TENANT_MS * USEC_PER_MSEC;
    b->n_left -= turn->done;
    return 0;
}

/* The tenants of a round. One that was not done in the last round goes on where it stopped. */
static int load_turns(struct thresholds *b, struct db *db, struct error *err)
{
    const struct alert_rules_row *rows;
    struct tenant_turn *turns;
    ARENA_SCOPED(arena);
    struct list list;
    size_t k = 0;

    if (alert_store_rules_limited(db, &arena, &list, err) != 0)
        return -1;
    rows = list.items;
    turns = mem_new((list.n + 1) * sizeof(*turns));
    for (size_t i = 0; i < list.n; i++) {
        while (k < b->n_turns && b->turns[k].tenant_id < rows[i].tenant_id)
            k++;
        turns[i] =
            (struct tenant_turn){ .tenant_id = rows[i].tenant_id, .version = rows[i].version };
        if (k < b->n_turns && b->turns[k].tenant_id == rows[i].tenant_id &&
            b->turns[k].version == rows[i].version)
            turns[i].rule = b->turns[k].rule;
    }
    free(b->turns);
    b->turns = turns;
    b->n_turns = b->n_left = list.n;
    b->next = 0;
    b->is_loaded = true;
    return 0;
}

static int eval_tenants(struct thresholds *b, struct db *db, struct error *err)
{
    const int64_t until_us = clock_raw_us() + (int64_t)SLICE_MS * USEC_PER_MSEC;

    if (!b->is_loaded && load_turns(b, db, err) != 0)
        return -1;
    while (b->n_left > 0 && clock_raw_us() < until_us && b->n_changes < CHANGES_MAX) {
        struct tenant_turn *turn = &b->turns[b->next];

        b->next = (b->next + 1) % b->n_turns;
        if (!turn->done && turn_or_note(b, db, turn, err) != 0)
            return -1;
    }
    return 0;
}

/* Keeps UPDATES_MAX updates: in each round others, until all had their turn. */
static void drop_updates(struct thresholds *b)
{
    struct transition *all = b->transitions.items;
    const size_t n = b->n_updates, first = (size_t)(b->rounds * UPDATES_MAX % (n > 0 ? n : 1));
    size_t kept = 0, update = 0;

    for (size_t i = 0; i < b->transitions.n; i++)
        if (!all[i].updates || (update++ + n - first) % n < UPDATES_MAX)
            all[kept++] = all[i];
    b->transitions.n = kept;
}

/* Processes that lock the same rows lock them in one order. */
static int compare_transitions(const void *a, const void *b)
{
    const struct transition *x = a, *y = b;

    if (x->updates != y->updates)
        return x->updates ? 1 : -1;
    if (x->tenant_id != y->tenant_id)
        return x->tenant_id < y->tenant_id ? -1 : 1;
    return x->rule < y->rule ? -1 : x->rule > y->rule;
}

/* What it found before it is run again stays. */
static int threshold_eval_run(struct reader_job *job, struct db *db, struct error *err)
{
    struct thresholds *b = CONTAINER_OF(job, struct thresholds, read);
    int r = db_set_read_max(db, (int64_t)RULE_MS * USEC_PER_MSEC, err);

    if (r == 0)
        r = eval_tenants(b, db, err);
    if (db_set_read_max(db, 0, r == 0 ? err : NULL) != 0)
        r = -1;
    return r;
}

static int open_alert(int64_t now_us, struct txn *txn, const struct transition *t,
                      struct error *err)
{
    struct alert_row alert = { .tenant_id = t->tenant_id,
                               .type = t->eval.type,
                               .agent_id = t->eval.agent_id,
                               .agent_name = t->agent_name,
                               .subject = t->eval.subject,
                               .since_at = t->eval.since_at,
                               .opened_at = now_us,
                               .detail = t->eval.detail };
    const struct alert_notice notice = { &alert, alert.type, t->eval.summary };
    int64_t over = 0;

    if (t->eval.until_at != TIME_NULL &&
        alert_store_over(txn->db, &alert, t->eval.until_at, &over, err) != 0)
        return -1;
    if (over != 0) /* closed by a process whose clock is ahead of ours: this period has ended */
        return 0;
    return alerts_open(txn, &notice, err);
}

static int close_alert(int64_t now_us, struct txn *txn, const struct transition *t,
                       struct error *err)
{
    ARENA_SCOPED(arena);
    struct alert_row alert;
    const struct alert_notice notice = { &alert, t->eval.recovered,
                                         t->eval.crossed ? t->eval.ended : t->eval.summary };

    if (alert_store_get(txn->db, t->tenant_id, t->alert_id, &arena, &alert, err) != 0)
        return -1;
    alert.closed_at = now_us;
    alert.closed_by = STR_LIT("recovered");
    return alert.open ? alerts_close(txn, &notice, err) : 0;
}

static int update_alert(struct txn *txn, const struct transition *t, struct error *err)
{
    ARENA_SCOPED(arena);
    struct alert_row alert;

    if (alert_store_get(txn->db, t->tenant_id, t->alert_id, &arena, &alert, err) != 0)
        return -1;
    return alerts_set_detail(txn, &alert, t->eval.detail, err);
}

static int apply_transition(int64_t now_us, struct txn *txn, const struct transition *t,
                            struct error *err)
{
    if (t->updates)
        return update_alert(txn, t, err);
    if (!str_is_null(t->alert_id) && close_alert(now_us, txn, t, err) != 0)
        return -1;
    return t->eval.crossed ? open_alert(now_us, txn, t, err) : 0;
}

/* Those of rules that have changed since are left out: the next round evaluates the new ones. */
static int threshold_apply(struct writer_job *job, struct txn *txn, struct error *err)
{
    const struct thresholds *b = CONTAINER_OF(job, struct thresholds, w.job);
    const struct transition *all = b->transitions.items;

    for (size_t i = 0; i < b->transitions.n; i++) {
        int64_t version;

        if (alert_store_rules_hold(txn->db, all[i].tenant_id, &version, err) != 0)
            return -1;
        if (version == all[i].version && apply_transition(b->now_us, txn, &all[i], err) != 0)
            return -1;
    }
    return 0;
}

/* After a failure the next round finds the changes again. */
static void threshold_done(struct writer_job *job, const struct error *err)
{
    (void)err;
    busy_end(&CONTAINER_OF(job, struct thresholds, w.job)->w.busy);
}

static void threshold_eval_done(struct reader_job *job, const struct error *err)
{
    struct thresholds *b = CONTAINER_OF(job, struct thresholds, read);

    b->in_round = err == NULL && b->n_left > 0;
    if (err == NULL && b->failure.code != ERR_NONE)
        err = &b->failure;
    if (err != NULL)
        log_write(LOG_WARNING, "alerts", "evaluation of a rule failed: %s", err->text);
    if (b->n_updates > UPDATES_MAX)
        drop_updates(b);
    if (b->transitions.n > 1)
        qsort(b->transitions.items, b->transitions.n, sizeof(struct transition),
              compare_transitions);
    b->w.job = (struct writer_job){ .apply = threshold_apply,
                                    .done = threshold_done,
                                    .events = 1 + b->transitions.n,
                                    .unbounded = true };
    if (b->transitions.n == 0 || writer_submit(b->w.env.writer, &b->w.job, NULL) != 0)
        busy_end(&b->w.busy);
}

static int thresholds_tick(struct watching *w, const struct tick *now, struct error *err)
{
    struct thresholds *b = CONTAINER_OF(w, struct thresholds, w);

    if (!now->healthy || now->mono_us - w->epoch_us < (int64_t)WARMUP_S * USEC_PER_SEC ||
        !busy_begin(&w->busy))
        return 0;
    if (!b->in_round && now->mono_us - b->round_us >= (int64_t)PERIOD_S * USEC_PER_SEC) {
        b->in_round = true;
        b->round_us = now->mono_us;
        b->rounds++;
        b->is_loaded = false;
    }
    if (!b->in_round) {
        busy_end(&b->w.busy);
        return 0;
    }
    b->now_us = now->wall_us;
    arena_reset(&b->w.arena);
    b->transitions = (struct rows){ .arena = &b->w.arena, .size = sizeof(struct transition) };
    b->n_changes = b->n_updates = 0;
    b->failure = (struct error){ 0 };
    b->read = (struct reader_job){ .run = threshold_eval_run, .done = threshold_eval_done };
    if (readers_submit(b->w.env.readers, &b->read, err) == 0)
        return 0;
    busy_end(&b->w.busy);
    return -1;
}

const struct watch threshold_watch = {
    .name = "rules with a limit",
    .size = sizeof(struct thresholds),
    .begin = thresholds_begin,
    .tick = thresholds_tick,
    .end = thresholds_end,
};
