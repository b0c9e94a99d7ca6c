/* feature.c - the courier, with a connection of its own. */
#include "engine/feature.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/digest.h"
#include "base/mem.h"
#include "cli/settings.h"
#include "db/db.h"
#include "engine/engine.h"
#include "features/features.h"
#include "features/users/mailer.h"
#include "features/users/shapes.h"
#include "features/vault/vault.h"
#include "features/webhooks/courier.h"
#include "features/webhooks/store.h"
#include "features/webhooks/webhooks.h"

struct webhooks {
    struct db *db; /* the courier's */
    struct webhooks_context context;
    struct courier *courier;
};

const struct webhooks_context *webhooks_context(const struct engine *e)
{
    const struct webhooks *webhooks = engine_state(e, &webhooks_feature);

    return &webhooks->context;
}

enum { ID_DIGITS = 24 };

struct letter_job {
    struct courier_test test;
    struct letter letter;
    char id[ID_DIGITS + sizeof("msg_")];
    struct mail *mail;
};

static void letter_sent(struct courier_test *test, const struct attempt_end *end,
                        const struct error *err)
{
    struct letter_job *job = CONTAINER_OF(test, struct letter_job, test);
    const char *problem = err != NULL ? err->text : end->error;

    job->mail->done(job->mail, problem);
    free(job);
}

/* A mail_send_fn: mail about accounts, sent at once by the courier and stored nowhere: it has
 * secrets. */
static int letter_send(struct engine *e, struct mail *mail, struct error *err)
{
    struct courier *courier = webhooks_courier(e, err);
    struct letter_job *job;
    char digits[ID_DIGITS];

    if (courier == NULL)
        return -1;
    job = NEW(struct letter_job);
    digest_random_base62(digits, ID_DIGITS);
    (void)snprintf(job->id, sizeof(job->id), "msg_%.*s", ID_DIGITS, digits);
    job->mail = mail;
    job->letter = (struct letter){ .to = mail->to,
                                   .subject = mail->subject,
                                   .text = mail->text,
                                   .message_id = str_of(job->id),
                                   .at = clock_wall_us() };
    job->test = (struct courier_test){ .tenant_id = mail->tenant_id,
                                       .webhook_id = STR_LIT(""),
                                       .letter = &job->letter,
                                       .done = letter_sent };
    if (courier_submit(courier, &job->test, err) == 0)
        return 0;
    free(job);
    return -1;
}

static int webhooks_open(struct engine *e, void **ret_state, struct error *err)
{
    const struct settings *settings = engine_settings(e);
    struct webhooks *webhooks = NEW(struct webhooks);

    *ret_state = webhooks;
    webhooks->context = (struct webhooks_context){
        .vault = vault_of(e),
        .rules = { .allow_http = settings->webhook_allow_http != 0,
                   .allow_private = settings->webhook_allow_private != 0 },
        .sends_mail = settings->smtp_url[0] != '\0' && settings->smtp_from[0] != '\0',
    };
    for (size_t i = 0; i < WEBHOOK_SEALED_N; i++)
        vault_add_sealed_table(vault_of(e), &webhooks_sealed[i]);
    if (webhooks->context.sends_mail)
        users_set_mailer(e, letter_send);
    return engine_serves(e) ? engine_open_reader(e, &webhooks->db, err) : 0;
}

/* The server sees the file as it will when it sends. */
static int check_password_file(const char *path, struct error *err)
{
    FILE *file = fopen(path, "re");
    int c = file != NULL ? fgetc(file) : EOF;

    if (file != NULL)
        (void)fclose(file);
    if (c != EOF && c != '\n')
        return 0;
    return err_set(err, ERR_INVALID,
                   "smtp_password_file: '%s' %s: give a file that the service may read, with the "
                   "password in its first line",
                   path, file == NULL ? "cannot be read" : "has no password");
}

/* What can only fail later, with the first mail, is refused at the start. settings.c checks
 * smtp_url. */
static int check_mail_settings(const struct settings *settings, struct arena *arena,
                               struct error *err)
{
    const bool has_user = settings->smtp_user[0] != '\0';

    if (settings->smtp_url[0] == '\0')
        return 0;
    if (!user_is_email(user_email_normal(str_of(settings->smtp_from), arena)))
        return err_set(err, ERR_INVALID,
                       "smtp_from: '%s' is not an e-mail address: smtp_url needs the sender, such "
                       "as muster@example.com",
                       settings->smtp_from);
    if (has_user && settings->smtp_password_file[0] == '\0')
        return err_set(err, ERR_INVALID,
                       "smtp_password_file: '' is no file: smtp_user needs one with the password");
    if (!has_user && settings->smtp_password_file[0] != '\0')
        return err_set(err, ERR_INVALID,
                       "smtp_user: '' is no user: smtp_password_file needs the name of the user "
                       "whose password it has");
    return has_user ? check_password_file(settings->smtp_password_file, err) : 0;
}

static int start_courier(struct engine *e, struct error *err)
{
    struct webhooks *webhooks = engine_state(e, &webhooks_feature);
    const struct settings *settings = engine_settings(e);
    const struct courier_options options = {
        .db = webhooks->db,
        .writer = engine_writer(e),
        .vault = webhooks->context.vault,
        .attempts = { .rules = webhooks->context.rules,
                      .mail = { .url = settings->smtp_url,
                                .from = settings->smtp_from,
                                .user = settings->smtp_user,
                                .password_file = settings->smtp_password_file },
                      .public_url = settings->public_url },
        .delivers = engine_serves(e),
    };

    return courier_new(&options, &webhooks->courier, err);
}

static int webhooks_start(struct engine *e, struct error *err)
{
    ARENA_SCOPED(arena);
    int r;

    if (!engine_serves(e))
        return 0; /* webhooks_courier() starts it */
    r = check_mail_settings(engine_settings(e), &arena, err);
    return r != 0 ? -1 : start_courier(e, err);
}

/* Few commands send anything, and a connection costs as much as many of them do. A command makes
 * one request at a time, so that this needs no lock. */
struct courier *webhooks_courier(struct engine *e, struct error *err)
{
    struct webhooks *webhooks = engine_state(e, &webhooks_feature);

    if (webhooks->courier != NULL)
        return webhooks->courier;
    if (engine_serves(e)) {
        err_set(err, ERR_BUSY, "the service is stopping");
        return NULL;
    }
    if (webhooks->db == NULL && db_open(engine_database(e), DB_READER, &webhooks->db, err) != 0)
        return NULL;
    return start_courier(e, err) == 0 ? webhooks->courier : NULL;
}

void webhooks_forget_soon(const struct engine *e)
{
    const struct webhooks *webhooks = engine_state(e, &webhooks_feature);

    if (webhooks->courier != NULL) /* a command leaves it to the server */
        courier_trim_soon(webhooks->courier);
}

/* While there is a writer: the courier waits for what it asked of it. */
static void webhooks_stop(struct engine *e)
{
    struct webhooks *webhooks = engine_state(e, &webhooks_feature);

    if (webhooks->courier != NULL)
        courier_stop(webhooks->courier); /* it is freed when no thread is left that may submit */
}

static void webhooks_close(void *state)
{
    struct webhooks *webhooks = state;

    if (webhooks == NULL)
        return;
    if (webhooks->courier != NULL)
        courier_free(webhooks->courier);
    db_close(webhooks->db);
    free(webhooks);
}

const struct feature webhooks_feature = {
    .name = "webhooks",
    .about = "Destinations of alert messages, and their deliveries.",
    .routes = { webhook_routes },
    .commands = { webhook_commands },
    .open = webhooks_open,
    .start = webhooks_start,
    .stop = webhooks_stop,
    .close = webhooks_close,
};
