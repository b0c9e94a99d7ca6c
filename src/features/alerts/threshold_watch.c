/* threshold_watch.c - evaluates rules with a limit in rounds, and the job that opens and closes
 * their alerts.
 *
 * Invariants:
 *  1. While `busy`, all fields below it belong to the one running job: first on
 *     a reader, then on the writer.
 *  2. A round goes through the tenants in the order of their ids. `reached` is
 *     the last one evaluated; a job that fails leaves its tenants to the next
 *     round.
 *  3. A tenant has one turn of TURN_MS. If its rules take longer, the rest is
 *     set aside, and they take further turns once all tenants had their first:
 *     slow rules of one tenant delay the others by one turn.
 *  4. A rule has RULE_MS; one that takes longer fails, and those after it go on.
 *     A tenant has TENANT_MS in a round, and then goes on in the next round
 *     where it stopped.
 *  5. Alerts that open or close end a turn at CHANGES_MAX, for they must not be
 *     lost. New values of alerts that stay open end none and take no room of
 *     these: a stop of one tenant's agents does not wait for others' values.
 */
#include "features/alerts/threshold_watch.h"

#include <stdlib.h>

#include "base/busy.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "db/db.h"
#include "engine/readers.h"
#include "engine/writer.h"
#include "features/alerts/alerts.h"
#include "features/alerts/rule_eval.h"
#include "features/alerts/rules.h"
#include "features/alerts/rules_store.h"
#include "features/alerts/threshold_transitions.h"

enum {
    PERIOD_S = 60,     /* between the starts of two rounds */
    WARMUP_S = 600,    /* after the epoch, before rules are evaluated */
    TENANTS_MAX = 100, /* per query */
    SLICE_MS = 200,    /* time per tick; the rest is left to the next one */
    TURN_MS = 20,      /* time per tenant and turn; the rule that exceeds it is finished */
    RULE_MS = 1000,    /* time per rule */
    TENANT_MS = 2000,  /* time per tenant and round; the rule that exceeds it is finished */
    CHANGES_MAX = 20,  /* alerts that open or close per tick, and so per transaction; those of a
                        * rule are one */
    UPDATES_MAX = 20, /* of alerts that stay open, besides: those left out wait for a later round */
};

/* A tenant whose rules were not all evaluated in its turn. */
struct unfinished {
    int64_t tenant_id, version;
    size_t rule;      /* the next one */
    int64_t spent_us; /* in this round */
};

struct unfinished_list {
    struct unfinished *items;
    size_t n, capacity;
    size_t n_kept; /* how many there were before the job, which may run again */
};

struct threshold_watch {
    struct threshold_watch_options options;
    int64_t round_us; /* monotonic: when the last round began */
    bool in_round;
    struct busy busy;

    struct reader_job read;
    struct writer_job write;
    struct arena arena; /* holds the transitions */
    struct threshold_transition *transitions;
    size_t n_transitions;
    struct threshold_transition *updates; /* of alerts that stay open; all of them, until the end */
    size_t n_updates;
    uint64_t rounds;
    int64_t after, reached; /* tenants */
    bool is_last;           /* all tenants had their first turn, and none has more to do */
    bool all_begun;         /* all tenants had their first turn */
    struct unfinished_list unfinished;  /* for further turns in this round */
    struct unfinished_list early, late; /* whose time is over: in the last round, and in this one */
    int64_t now_us;
    struct error failure; /* of the last tenant that failed; ERR_NONE: no failure */
};

struct threshold_watch *threshold_watch_new(const struct threshold_watch_options *options,
                                            int64_t mono_us)
{
    struct threshold_watch *b = NEW(struct threshold_watch);

    b->options = *options;
    b->round_us = mono_us;
    arena_init(&b->arena);
    return b;
}

void threshold_watch_free(struct threshold_watch *b)
{
    if (b == NULL)
        return;
    arena_done(&b->arena);
    free(b->unfinished.items);
    free(b->early.items);
    free(b->late.items);
    free(b);
}

/* The rule's open alert, or NULL. */
static const struct alert_row *find_open(const struct list *open, const struct rule_eval *rule_eval)
{
    const struct alert_row *alerts = open->items;

    for (size_t i = 0; i < open->n; i++)
        if (str_eq(alerts[i].type, rule_eval->type) &&
            str_eq(alerts[i].subject, rule_eval->subject))
            return &alerts[i];
    return NULL;
}

/* Is the open alert about a period that has ended? */
static bool is_of_earlier_period(const struct alert_row *open, const struct rule_eval *rule_eval)
{
    return rule_eval->until_at != TIME_NULL && open->since_at < rule_eval->since_at;
}

static bool is_unchanged(const struct alert_row *open, const struct rule_eval *rule_eval)
{
    if (open == NULL)
        return !rule_eval->crossed;
    if (rule_eval->until_at != TIME_NULL && open->since_at > rule_eval->since_at)
        return true; /* of a later period: opened by a process whose clock is ahead */
    return rule_eval->crossed && !is_of_earlier_period(open, rule_eval);
}

static void add_transition(struct threshold_watch *b, const struct alert_rules_row *row,
                           const struct rule_eval *rule_eval, struct str agent_name,
                           const struct list *open)
{
    const struct alert_row *alert = find_open(open, rule_eval);
    const bool updates = alert != NULL && rule_eval->known && rule_eval->crossed &&
                         is_unchanged(alert, rule_eval) &&
                         !str_eq(alert->detail, rule_eval->detail);
    /* a period that has ended is over, whatever is known of the one that began */
    const bool known =
        rule_eval->known || (alert != NULL && is_of_earlier_period(alert, rule_eval));
    struct threshold_transition **list = updates ? &b->updates : &b->transitions;
    struct threshold_transition *transition;

    if (!known || (is_unchanged(alert, rule_eval) && !updates))
        return;
    transition = ARENA_NEW(&b->arena, struct threshold_transition);
    *transition = (struct threshold_transition){
        .next = *list,
        .tenant_id = row->tenant_id,
        .version = row->version,
        .rule_eval = *rule_eval,
        .agent_name = agent_name,
        .alert_id = alert == NULL ? STR_NULL : alert->alert_id,
        .updates = updates,
    };
    *list = transition;
    *(updates ? &b->n_updates : &b->n_transitions) += 1;
}

/* A tenant's turn: its rules, one list after the other, and their open alerts. */
struct turn {
    const struct alert_rules_row *row;
    struct rule_eval_reader reader;
    struct alert_rules rules;
    struct list open;
};

static size_t count_rules(const struct alert_rules *rules)
{
    return rules->kpis.n + 2 * rules->budgets.n + rules->failure_rates.n + rules->durations.n;
}

/* The rule at this place of all lists, that of budgets twice: spent, and forecast. known is false
 * if it is paused. The name is of the agent that it is about. */
static int eval_rule_at(const struct turn *t, size_t i, struct rule_eval *ret, struct str *ret_name,
                        struct error *err)
{
    const struct alert_rules *rules = &t->rules;
    const struct kpi_rule *kpis = rules->kpis.items;
    const struct budget_rule *budgets = rules->budgets.items;
    const struct failure_rate_rule *rates = rules->failure_rates.items;
    const struct duration_rule *durations = rules->durations.items;

    *ret = (struct rule_eval){ .known = false };
    *ret_name = STR_NULL;
    if (i < rules->kpis.n) {
        *ret_name = kpis[i].agent_name;
        return kpis[i].paused ? 0 : rule_eval_kpi(&t->reader, &kpis[i], ret, err);
    }
    i -= rules->kpis.n;
    if (i < rules->budgets.n) {
        *ret_name = budgets[i].agent_name;
        return budgets[i].paused ? 0 : rule_eval_budget(&t->reader, &budgets[i], ret, err);
    }
    i -= rules->budgets.n;
    if (i < rules->budgets.n) {
        *ret_name = budgets[i].agent_name;
        return budgets[i].paused ? 0 : rule_eval_forecast(&t->reader, &budgets[i], ret, err);
    }
    i -= rules->budgets.n;
    if (i < rules->failure_rates.n) {
        *ret_name = rates[i].agent_name;
        return rates[i].paused ? 0 : rule_eval_failure_rate(&t->reader, &rates[i], ret, err);
    }
    i -= rules->failure_rates.n;
    *ret_name = durations[i].agent_name;
    return durations[i].paused ? 0 : rule_eval_duration(&t->reader, &durations[i], ret, err);
}

/* A rule that fails does not keep those after it from being evaluated. */
static int eval_rule(struct threshold_watch *b, const struct turn *t, size_t i, struct error *err)
{
    struct error failure = { 0 };
    struct rule_eval rule_eval;
    struct str agent_name;

    if (eval_rule_at(t, i, &rule_eval, &agent_name, &failure) == 0) {
        add_transition(b, t->row, &rule_eval, agent_name, &t->open);
        return 0;
    }
    if (failure.code == ERR_UNAVAILABLE)
        return err_set(err, ERR_UNAVAILABLE, "%s", failure.text);
    err_set(&b->failure, failure.code, "rule %zu of tenant %lld: %s", i + 1,
            (long long)t->row->tenant_id, failure.text);
    return 0;
}

/* From rule `*rule` on, which is then the next one; 0: all were evaluated. */
static int take_turn(struct threshold_watch *b, struct db *db, const struct alert_rules_row *row,
                     size_t *rule, struct error *err)
{
    int64_t until_us = clock_raw_us() + (int64_t)TURN_MS * USEC_PER_MSEC;
    struct turn t = { .row = row,
                      .reader = { db, b->options.prices, row->tenant_id, b->now_us, &b->arena } };
    const size_t first = *rule;

    *rule = 0;
    if (alert_rules_read(row, &b->arena, &t.rules, err) != 0 ||
        store_alerts_of_thresholds(db, row->tenant_id, &b->arena, &t.open, err) != 0)
        return -1;
    for (size_t i = first; i < count_rules(&t.rules); i++) {
        /* a turn has one rule at least */
        if (i > first && (clock_raw_us() >= until_us || b->n_transitions >= CHANGES_MAX)) {
            *rule = i;
            return 0;
        }
        if (eval_rule(b, &t, i, err) != 0)
            return -1;
    }
    return 0;
}

static void set_aside(struct unfinished_list *list, const struct unfinished *one)
{
    list->items = mem_grow(list->items, list->n, &list->capacity, sizeof(*list->items));
    list->items[list->n++] = *one;
}

/* A turn of `one`. A tenant whose rules cannot be read does not keep the others from being
 * evaluated. */
static int turn_or_note(struct threshold_watch *b, struct db *db, const struct alert_rules_row *row,
                        struct unfinished one, struct error *err)
{
    const int64_t began_us = clock_raw_us();
    struct error failure = { 0 };

    if (take_turn(b, db, row, &one.rule, &failure) != 0) {
        if (failure.code == ERR_UNAVAILABLE)
            return err_set(err, ERR_UNAVAILABLE, "%s", failure.text);
        b->failure = failure;
    }
    one.spent_us += clock_raw_us() - began_us;
    if (one.rule != 0)
        set_aside(one.spent_us < (int64_t)TENANT_MS * USEC_PER_MSEC ? &b->unfinished : &b->late,
                  &one);
    return 0;
}

/* Where the tenant's first turn of this round begins. */
static struct unfinished place_of(const struct threshold_watch *b,
                                  const struct alert_rules_row *row)
{
    const struct unfinished_list *early = &b->early;
    struct unfinished place = { .tenant_id = row->tenant_id, .version = row->version };

    for (size_t i = 0; i < early->n; i++)
        if (early->items[i].tenant_id == row->tenant_id && early->items[i].version == row->version)
            place.rule = early->items[i].rule;
    return place;
}

static bool may_go_on(const struct threshold_watch *b, int64_t until_us)
{
    return clock_raw_us() < until_us && b->n_transitions < CHANGES_MAX;
}

/* First turns, in the order of tenants. */
static int begin_tenants(struct threshold_watch *b, struct db *db, int64_t until_us,
                         struct error *err)
{
    const struct alert_rules_row *rows;
    struct list list;
    size_t n = 0;

    if (store_alert_rules_thresholds(db, b->after, TENANTS_MAX, &b->arena, &list, err) != 0)
        return -1;
    rows = list.items;
    while (n < list.n && (n == 0 || may_go_on(b, until_us))) {
        if (turn_or_note(b, db, &rows[n], place_of(b, &rows[n]), err) != 0)
            return -1;
        b->reached = rows[n++].tenant_id;
    }
    b->all_begun = n == list.n && list.n < TENANTS_MAX;
    return 0;
}

/* Further turns of those that were set aside. Rules that have changed are left to the next round.
 */
static int continue_tenants(struct threshold_watch *b, struct db *db, int64_t until_us,
                            struct error *err)
{
    struct unfinished_list *rest = &b->unfinished;

    while (rest->n > 0 && may_go_on(b, until_us)) {
        const struct unfinished next = rest->items[0];
        const struct alert_rules_row *row;
        struct list list;

        rest->n--;
        memmove(&rest->items[0], &rest->items[1], rest->n * sizeof(next));
        if (store_alert_rules_thresholds(db, next.tenant_id - 1, 1, &b->arena, &list, err) != 0)
            return -1;
        row = list.items;
        if (list.n == 1 && row->tenant_id == next.tenant_id && row->version == next.version &&
            turn_or_note(b, db, row, next, err) != 0)
            return -1;
    }
    return 0;
}

static int eval_tenants(struct threshold_watch *b, struct db *db, struct error *err)
{
    int64_t until_us = clock_raw_us() + (int64_t)SLICE_MS * USEC_PER_MSEC;

    if (!b->all_begun && begin_tenants(b, db, until_us, err) != 0)
        return -1;
    return b->all_begun ? continue_tenants(b, db, until_us, err) : 0;
}

static int threshold_eval_run(struct reader_job *job, struct db *db, struct error *err)
{
    struct threshold_watch *b = CONTAINER_OF(job, struct threshold_watch, read);
    int r;

    arena_reset(&b->arena);
    b->transitions = NULL;
    b->n_transitions = 0;
    b->updates = NULL;
    b->n_updates = 0;
    b->failure = (struct error){ 0 };
    b->late.n = b->late.n_kept;
    if (!b->all_begun)
        b->unfinished.n = b->unfinished.n_kept;
    r = db_set_read_max(db, (int64_t)RULE_MS * USEC_PER_MSEC, err);
    if (r == 0)
        r = eval_tenants(b, db, err);
    if (b->n_updates > UPDATES_MAX) {
        b->updates = threshold_updates_choose(b->updates, UPDATES_MAX, b->rounds, &b->arena);
        b->n_updates = UPDATES_MAX;
    }
    if (db_set_read_max(db, 0, r == 0 ? err : NULL) != 0)
        r = -1;
    b->is_last = b->all_begun && b->unfinished.n == 0;
    return r;
}

static int threshold_apply(struct writer_job *job, struct txn *txn, struct error *err)
{
    const struct threshold_watch *b = CONTAINER_OF(job, struct threshold_watch, write);

    if (threshold_transitions_apply(b->transitions, b->now_us, txn, err) != 0)
        return -1;
    return threshold_transitions_apply(b->updates, b->now_us, txn, err);
}

/* After a failure the next round finds the changes again. */
static void threshold_done(struct writer_job *job, const struct error *err)
{
    (void)err;
    busy_end(&CONTAINER_OF(job, struct threshold_watch, write)->busy);
}

static void threshold_eval_done(struct reader_job *job, const struct error *err)
{
    struct threshold_watch *b = CONTAINER_OF(job, struct threshold_watch, read);

    if (err == NULL && b->failure.code != ERR_NONE)
        err = &b->failure;
    if (err != NULL)
        log_write(LOG_WARNING, "alerts", "evaluation of a rule failed: %s", err->text);
    b->in_round = err != NULL && err != &b->failure ? false : !b->is_last;
    b->after = b->reached;
    b->write = (struct writer_job){ .apply = threshold_apply,
                                    .done = threshold_done,
                                    .events = 1 + b->n_transitions + b->n_updates,
                                    .unbounded = true };
    if (b->n_transitions + b->n_updates == 0 ||
        writer_submit(b->options.writer, &b->write, NULL) != 0)
        busy_end(&b->busy);
}

int threshold_watch_tick(struct threshold_watch *b, int64_t wall_us, int64_t mono_us,
                         int64_t epoch_us, struct error *err)
{
    if (mono_us - epoch_us < (int64_t)WARMUP_S * USEC_PER_SEC || !busy_begin(&b->busy))
        return 0;
    if (!b->in_round && mono_us - b->round_us >= (int64_t)PERIOD_S * USEC_PER_SEC) {
        b->in_round = true;
        b->round_us = mono_us;
        b->rounds++;
        b->after = b->reached = 0;
        b->all_begun = false;
        b->unfinished.n = 0;
        free(b->early.items);
        b->early = b->late;
        b->late = (struct unfinished_list){ 0 };
    }
    if (b->in_round) {
        b->now_us = wall_us;
        b->unfinished.n_kept = b->unfinished.n;
        b->late.n_kept = b->late.n;
        b->read = (struct reader_job){ .run = threshold_eval_run, .done = threshold_eval_done };
        if (readers_submit(b->options.readers, &b->read, err) == 0)
            return 0;
        busy_end(&b->busy);
        return -1;
    }
    busy_end(&b->busy);
    return 0;
}
