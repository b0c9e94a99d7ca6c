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
 */
#include "features/alerts/threshold_watch.h"

#include <stdlib.h>

#include "base/busy.h"
#include "base/clock.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/mem.h"
#include "engine/readers.h"
#include "engine/txn.h"
#include "engine/writer.h"
#include "features/agents/store.h"
#include "features/alerts/alert_notes.h"
#include "features/alerts/alerts.h"
#include "features/alerts/rule_eval.h"
#include "features/alerts/rules.h"
#include "features/alerts/rules_store.h"

enum {
    PERIOD_S = 60,     /* between the starts of two rounds */
    WARMUP_S = 600,    /* after the epoch, before rules are evaluated */
    TENANTS_MAX = 100, /* per query */
    SLICE_MS = 200,    /* time per tick; the rest is left to the next one */
    TURN_MS = 20,      /* time per tenant and turn; the rule that exceeds it is finished */
};

/* A tenant whose rules were not all evaluated in its turn. */
struct unfinished {
    int64_t tenant_id, version;
    size_t rule; /* the next one */
};

/* A request to the writer: close the open alert, open one, or both, when the new period is over its
 * budget as the last one was; or bring the open alert's value up to date. */
struct threshold_transition {
    struct threshold_transition *next;
    int64_t tenant_id, version; /* of the rules that were evaluated */
    struct rule_eval rule_eval;
    struct str agent_name; /* STR_NULL: not about one agent */
    struct str alert_id;   /* of the open alert; STR_NULL: no alert is open */
    bool updates;          /* it stays open, with another value */
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
    int64_t after, reached; /* tenants */
    bool is_last;           /* all tenants had their first turn, and none has more to do */
    bool all_begun;         /* all tenants had their first turn */
    struct unfinished *unfinished;
    size_t n_unfinished, unfinished_capacity;
    size_t n_kept; /* how many were unfinished before the job, which may run again */
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
    free(b->unfinished);
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
    struct threshold_transition *transition;

    if (!rule_eval->known || (is_unchanged(alert, rule_eval) && !updates))
        return;
    transition = ARENA_NEW(&b->arena, struct threshold_transition);
    *transition =
        (struct threshold_transition){ b->transitions, row->tenant_id,
                                       row->version,   *rule_eval,
                                       agent_name,     alert == NULL ? STR_NULL : alert->alert_id,
                                       updates };
    b->transitions = transition;
    b->n_transitions++;
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
    return rules->kpis.n + rules->budgets.n + rules->failure_rates.n + rules->durations.n;
}

/* The rule at this place of all four lists, if it is not paused: known is false then. The name is
 * of the agent that it is about. */
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
    if (i < rules->failure_rates.n) {
        *ret_name = rates[i].agent_name;
        return rates[i].paused ? 0 : rule_eval_failure_rate(&t->reader, &rates[i], ret, err);
    }
    i -= rules->failure_rates.n;
    *ret_name = durations[i].agent_name;
    return durations[i].paused ? 0 : rule_eval_duration(&t->reader, &durations[i], ret, err);
}

static int eval_rule(struct threshold_watch *b, const struct turn *t, size_t i, struct error *err)
{
    struct rule_eval rule_eval;
    struct str agent_name;

    if (eval_rule_at(t, i, &rule_eval, &agent_name, err) != 0)
        return -1;
    add_transition(b, t->row, &rule_eval, agent_name, &t->open);
    return 0;
}

/* From rule `*rule` on, which is then the next one; 0: all were evaluated, or one failed, and the
 * tenant is left to the next round. */
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
        if (i > first && clock_raw_us() >= until_us) { /* a turn has one rule at least */
            *rule = i;
            return 0;
        }
        if (eval_rule(b, &t, i, err) != 0)
            return -1;
    }
    return 0;
}

static void set_aside(struct threshold_watch *b, const struct alert_rules_row *row, size_t rule)
{
    if (b->n_unfinished == b->unfinished_capacity) {
        b->unfinished_capacity = b->unfinished_capacity == 0 ? 16 : b->unfinished_capacity * 2;
        b->unfinished = mem_resize(b->unfinished, b->unfinished_capacity * sizeof(*b->unfinished));
    }
    b->unfinished[b->n_unfinished++] = (struct unfinished){ row->tenant_id, row->version, rule };
}

/* A tenant whose rules fail does not keep the others from being evaluated. */
static int turn_or_note(struct threshold_watch *b, struct db *db, const struct alert_rules_row *row,
                        size_t rule, struct error *err)
{
    if (take_turn(b, db, row, &rule, &b->failure) != 0 && b->failure.code == ERR_UNAVAILABLE)
        return err_set(err, ERR_UNAVAILABLE, "%s", b->failure.text);
    if (rule != 0)
        set_aside(b, row, rule);
    return 0;
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
    while (n < list.n && (n == 0 || clock_raw_us() < until_us)) {
        if (turn_or_note(b, db, &rows[n], 0, err) != 0)
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
    while (b->n_unfinished > 0 && clock_raw_us() < until_us) {
        const struct unfinished next = b->unfinished[0];
        const struct alert_rules_row *row;
        struct list list;

        b->n_unfinished--;
        memmove(&b->unfinished[0], &b->unfinished[1], b->n_unfinished * sizeof(next));
        if (store_alert_rules_thresholds(db, next.tenant_id - 1, 1, &b->arena, &list, err) != 0)
            return -1;
        row = list.items;
        if (list.n == 1 && row->tenant_id == next.tenant_id && row->version == next.version &&
            turn_or_note(b, db, row, next.rule, err) != 0)
            return -1;
    }
    return 0;
}

static int threshold_eval_run(struct reader_job *job, struct db *db, struct error *err)
{
    struct threshold_watch *b = CONTAINER_OF(job, struct threshold_watch, read);
    int64_t until_us = clock_raw_us() + (int64_t)SLICE_MS * USEC_PER_MSEC;

    arena_reset(&b->arena);
    b->transitions = NULL;
    b->n_transitions = 0;
    b->failure = (struct error){ 0 };
    if (!b->all_begun)
        b->n_unfinished = b->n_kept;
    if (!b->all_begun && begin_tenants(b, db, until_us, err) != 0)
        return -1;
    if (b->all_begun && continue_tenants(b, db, until_us, err) != 0)
        return -1;
    b->is_last = b->all_begun && b->n_unfinished == 0;
    return 0;
}

static int open_alert(struct threshold_watch *b, struct db *db,
                      const struct threshold_transition *transition, struct alert_notes *notes,
                      struct error *err)
{
    struct alert_row alert = { .tenant_id = transition->tenant_id,
                               .type = transition->rule_eval.type,
                               .agent_id = transition->rule_eval.agent_id,
                               .agent_name = transition->agent_name,
                               .subject = transition->rule_eval.subject,
                               .since_at = transition->rule_eval.since_at,
                               .opened_at = b->now_us,
                               .detail = transition->rule_eval.detail };
    const struct alert_notice notice = { &alert, alert.type, transition->rule_eval.summary, notes };
    bool muted, opened, over = false;

    if (transition->rule_eval.until_at != TIME_NULL &&
        store_alert_is_over(db, &alert, transition->rule_eval.until_at, &over, err) != 0)
        return -1;
    if (over) /* closed by a process whose clock is ahead of ours: this period has ended */
        return 0;
    if (store_agent_is_muted(db, alert.tenant_id, alert.agent_id, b->now_us, &muted, err) != 0)
        return -1;
    alert.notified = !muted;
    return alerts_open(db, &notice, &opened, err);
}

static int close_alert(struct threshold_watch *b, struct db *db,
                       const struct threshold_transition *transition, struct alert_notes *notes,
                       struct error *err)
{
    struct arena arena;
    struct alert_row alert;
    const struct alert_notice notice = { &alert, transition->rule_eval.recovered,
                                         transition->rule_eval.crossed
                                             ? transition->rule_eval.ended
                                             : transition->rule_eval.summary,
                                         notes };
    int r;

    arena_init(&arena);
    r = store_alert(db, transition->tenant_id, transition->alert_id, &arena, &alert, err);
    if (r == 0 && alert.open) {
        alert.closed_at = b->now_us;
        alert.closed_by = STR_LIT("recovered");
        r = alerts_close(db, &notice, err);
    }
    arena_done(&arena);
    return r;
}

static int update_alert(struct db *db, const struct threshold_transition *transition,
                        struct alert_notes *notes, struct error *err)
{
    struct arena arena;
    struct alert_row alert;
    int r;

    arena_init(&arena);
    r = store_alert(db, transition->tenant_id, transition->alert_id, &arena, &alert, err);
    if (r == 0 && alert.open) {
        alert.detail = transition->rule_eval.detail;
        r = store_alert_detail(db, &alert, err);
        if (r == 0)
            alert_notes_add_change(notes, &alert);
    }
    arena_done(&arena);
    return r;
}

static int change_alerts(struct threshold_watch *b, struct db *db,
                         const struct threshold_transition *transition, struct alert_notes *notes,
                         struct error *err)
{
    if (transition->updates)
        return update_alert(db, transition, notes, err);
    if (!str_is_null(transition->alert_id) && close_alert(b, db, transition, notes, err) != 0)
        return -1;
    return transition->rule_eval.crossed ? open_alert(b, db, transition, notes, err) : 0;
}

static int threshold_apply(struct writer_job *job, struct txn *txn, struct error *err)
{
    struct threshold_watch *b = CONTAINER_OF(job, struct threshold_watch, write);
    struct alert_notes *notes = txn->notes;

    for (const struct threshold_transition *transition = b->transitions; transition != NULL;
         transition = transition->next) {
        int64_t version;

        if (store_alert_rules_hold(txn->db, transition->tenant_id, &version, err) != 0)
            return -1;
        if (version != transition->version)
            continue; /* the rules have changed: the next round evaluates the new ones */
        if (change_alerts(b, txn->db, transition, notes, err) != 0)
            return -1;
    }
    return 0;
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
                                    .events = 1 + b->n_transitions,
                                    .unbounded = true };
    if (b->n_transitions == 0 || writer_submit(b->options.writer, &b->write, NULL) != 0)
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
        b->after = b->reached = 0;
        b->all_begun = false;
        b->n_unfinished = 0;
    }
    if (b->in_round) {
        b->now_us = wall_us;
        b->n_kept = b->n_unfinished;
        b->read = (struct reader_job){ .run = threshold_eval_run, .done = threshold_eval_done };
        if (readers_submit(b->options.readers, &b->read, err) == 0)
            return 0;
        busy_end(&b->busy);
        return -1;
    }
    busy_end(&b->busy);
    return 0;
}
