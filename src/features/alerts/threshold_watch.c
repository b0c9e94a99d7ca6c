/* threshold_watch.c - KPIs and budgets judged in rounds, and the job that opens and closes their
 * alerts.
 *
 * Invariants:
 *  1. While `busy` all below it belongs to the one job under way: on a reader,
 *     then on the writer.
 *  2. A round goes through the tenants by number. `reached` is the last one
 *     judged; a job that fails leaves its tenants to the next round.
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
#include "features/alerts/alerts.h"
#include "features/alerts/rule_eval.h"
#include "features/alerts/rules.h"
#include "features/alerts/rules_store.h"

enum {
    PERIOD_S = 60,     /* between the beginnings of two rounds */
    REST_S = 600,      /* after we began to listen */
    TENANTS_MAX = 100, /* read at once */
    SLICE_MS = 200     /* after which the rest is left to the next tick */
};

/* What is asked of the writer: to close the alert that is open, or to open one, or both: when the
 * next period begins as the last one ended. */
struct flip {
    struct flip *next;
    int64_t tenant_id, version; /* of the rules that were judged by */
    struct rule_eval rule_eval;
    struct str agent_name; /* STR_NULL: of no one agent */
    struct str alert_id;   /* STR_NULL: none is open */
};

struct threshold_watch {
    struct threshold_watch_options options;
    int64_t round_us; /* monotonic: when the last round began */
    bool in_round;
    struct busy busy;

    struct reader_job read;
    struct writer_job write;
    struct arena arena; /* of the flips */
    struct flip *flips;
    size_t n_flips;
    int64_t after, reached; /* tenants */
    bool is_last;
    int64_t now_us;
    struct error failure; /* of one tenant; no code: none */
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
    free(b);
}

/* The alert of this judgement that is open, or NULL. */
static const struct alert_row *find_open(const struct list *open, const struct rule_eval *rule_eval)
{
    const struct alert_row *alerts = open->items;

    for (size_t i = 0; i < open->n; i++)
        if (str_eq(alerts[i].type, rule_eval->type) &&
            str_eq(alerts[i].subject, rule_eval->subject))
            return &alerts[i];
    return NULL;
}

/* Is what is open of a period that is over? Never of a later one: another process's clock. */
static bool is_of_before(const struct alert_row *open, const struct rule_eval *rule_eval)
{
    return rule_eval->until_at != TIME_NULL && open->since_at < rule_eval->since_at;
}

static bool is_as_it_was(const struct alert_row *open, const struct rule_eval *rule_eval)
{
    if (open == NULL)
        return !rule_eval->crossed;
    if (rule_eval->until_at != TIME_NULL && open->since_at > rule_eval->since_at)
        return true;
    return rule_eval->crossed && !is_of_before(open, rule_eval);
}

static void note(struct threshold_watch *b, const struct alert_rules_row *row,
                 const struct rule_eval *rule_eval, struct str agent_name, const struct list *open)
{
    const struct alert_row *alert = find_open(open, rule_eval);
    struct flip *flip;

    if (!rule_eval->known || is_as_it_was(alert, rule_eval))
        return;
    flip = ARENA_NEW(&b->arena, struct flip);
    *flip = (struct flip){ b->flips,   row->tenant_id, row->version,
                           *rule_eval, agent_name,     alert == NULL ? STR_NULL : alert->alert_id };
    b->flips = flip;
    b->n_flips++;
}

static int judge(struct threshold_watch *b, struct db *db, const struct alert_rules_row *row,
                 struct error *err)
{
    const struct rule_eval_reader reader = { db, b->options.prices, row->tenant_id, b->now_us,
                                             &b->arena };
    const struct budget_rule *budgets;
    const struct kpi_rule *kpis;
    struct alert_rules rules;
    struct rule_eval rule_eval;
    struct list open;

    if (alert_rules_read(row, &b->arena, &rules, err) != 0 ||
        store_alerts_of_thresholds(db, row->tenant_id, &b->arena, &open, err) != 0)
        return -1;
    kpis = rules.kpis.items;
    for (size_t i = 0; i < rules.kpis.n; i++) {
        if (rule_eval_kpi(&reader, &kpis[i], &rule_eval, err) != 0)
            return -1;
        note(b, row, &rule_eval, kpis[i].agent_name, &open);
    }
    budgets = rules.budgets.items;
    for (size_t i = 0; i < rules.budgets.n; i++) {
        if (rule_eval_budget(&reader, &budgets[i], &rule_eval, err) != 0)
            return -1;
        note(b, row, &rule_eval, STR_NULL, &open);
    }
    return 0;
}

/* One tenant's failure is not the others'. */
static int run(struct reader_job *job, struct db *db, struct error *err)
{
    struct threshold_watch *b = CONTAINER_OF(job, struct threshold_watch, read);
    int64_t until_us = clock_raw_us() + (int64_t)SLICE_MS * USEC_PER_MSEC;
    const struct alert_rules_row *rows;
    struct list list;
    size_t n = 0;

    arena_reset(&b->arena);
    b->flips = NULL;
    b->n_flips = 0;
    b->failure = (struct error){ 0 };
    if (store_alert_rules_thresholds(db, b->after, TENANTS_MAX, &b->arena, &list, err) != 0)
        return -1;
    rows = list.items;
    while (n < list.n && (n == 0 || clock_raw_us() < until_us)) {
        if (judge(b, db, &rows[n], &b->failure) != 0 && b->failure.code == ERR_UNAVAILABLE)
            return err_set(err, ERR_UNAVAILABLE, "%s", b->failure.text);
        b->reached = rows[n++].tenant_id;
    }
    b->is_last = n == list.n && list.n < TENANTS_MAX;
    return 0;
}

static int open_alert(struct threshold_watch *b, struct db *db, const struct flip *flip,
                      struct alert_notes *notes, struct error *err)
{
    struct alert_row alert = { .tenant_id = flip->tenant_id,
                               .type = flip->rule_eval.type,
                               .agent_id = flip->rule_eval.agent_id,
                               .agent_name = flip->agent_name,
                               .subject = flip->rule_eval.subject,
                               .since_at = flip->rule_eval.since_at,
                               .opened_at = b->now_us,
                               .detail = flip->rule_eval.detail };
    const struct alert_news news = { &alert, alert.type, flip->rule_eval.summary, notes };
    bool muted, opened, over = false;

    if (flip->rule_eval.until_at != TIME_NULL &&
        store_alert_is_over(db, &alert, flip->rule_eval.until_at, &over, err) != 0)
        return -1;
    if (over) /* somebody whose clock is ahead of ours has closed it: this period has ended */
        return 0;
    if (store_agent_is_muted(db, alert.tenant_id, alert.agent_id, b->now_us, &muted, err) != 0)
        return -1;
    alert.told = !muted;
    return alerts_open(db, &news, &opened, err);
}

static int close_alert(struct threshold_watch *b, struct db *db, const struct flip *flip,
                       struct alert_notes *notes, struct error *err)
{
    struct arena arena;
    struct alert_row alert;
    const struct alert_news news = { &alert, flip->rule_eval.recovered,
                                     flip->rule_eval.crossed ? flip->rule_eval.ended
                                                             : flip->rule_eval.summary,
                                     notes };
    int r;

    arena_init(&arena);
    r = store_alert(db, flip->tenant_id, flip->alert_id, &arena, &alert, err);
    if (r == 0 && alert.open) {
        alert.closed_at = b->now_us;
        alert.closed_by = STR_LIT("recovered");
        r = alerts_close(db, &news, err);
    }
    arena_done(&arena);
    return r;
}

static int apply(struct writer_job *job, struct txn *txn, struct error *err)
{
    struct threshold_watch *b = CONTAINER_OF(job, struct threshold_watch, write);
    struct alert_notes *notes = txn->notes;

    for (const struct flip *flip = b->flips; flip != NULL; flip = flip->next) {
        int64_t version;

        if (store_alert_rules_hold(txn->db, flip->tenant_id, &version, err) != 0)
            return -1;
        if (version != flip->version)
            continue; /* the rules are others now: the next round judges by them */
        if ((!str_is_null(flip->alert_id) && close_alert(b, txn->db, flip, notes, err) != 0) ||
            (flip->rule_eval.crossed && open_alert(b, txn->db, flip, notes, err) != 0))
            return -1;
    }
    return 0;
}

/* What failed is found again with the next round. */
static void written(struct writer_job *job, const struct error *err)
{
    (void)err;
    busy_end(&CONTAINER_OF(job, struct threshold_watch, write)->busy);
}

static void judged(struct reader_job *job, const struct error *err)
{
    struct threshold_watch *b = CONTAINER_OF(job, struct threshold_watch, read);

    if (err == NULL && b->failure.code != ERR_NONE)
        err = &b->failure;
    if (err != NULL)
        log_write(LOG_WARNING, "alerts", "a KPI or budget was not looked at: %s", err->text);
    b->in_round = err != NULL && err != &b->failure ? false : !b->is_last;
    b->after = b->reached;
    b->write = (struct writer_job){
        .apply = apply, .done = written, .events = 1 + b->n_flips, .unbounded = true
    };
    if (b->n_flips == 0 || writer_submit(b->options.writer, &b->write, NULL) != 0)
        busy_end(&b->busy);
}

int threshold_watch_tick(struct threshold_watch *b, int64_t wall_us, int64_t mono_us,
                         int64_t epoch_us, struct error *err)
{
    if (mono_us - epoch_us < (int64_t)REST_S * USEC_PER_SEC || !busy_begin(&b->busy))
        return 0;
    if (!b->in_round && mono_us - b->round_us >= (int64_t)PERIOD_S * USEC_PER_SEC) {
        b->in_round = true;
        b->round_us = mono_us;
        b->after = b->reached = 0;
    }
    if (b->in_round) {
        b->now_us = wall_us;
        b->read = (struct reader_job){ .run = run, .done = judged };
        if (readers_submit(b->options.readers, &b->read, err) == 0)
            return 0;
        busy_end(&b->busy);
        return -1;
    }
    busy_end(&b->busy);
    return 0;
}
