/* factor.c - keys, codes and recovery codes of second factors. */
#include "features/users/second_factor/factor.h"
#include "features/access/auth.h"

#include <assert.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdio.h>

#include "api/api.h"
#include "api/call.h"
#include "base/clock.h"
#include "base/digest.h"
#include "db/db.h"
#include "features/access/sessions.h"
#include "features/vault/vault.h"
#include "shape/rows.h"
#include "shape/table.h"

struct factor_row {
    struct str user_id; /* STR_NULL: no such row */
    struct str sealed;
    bool active;
    int64_t used_step; /* of the last code that was used */
    int64_t created_at, confirmed_at;
};

/* clang-format off */
ROW_TABLE(factor_row,
    STR(user_id), STR(sealed), BOOL(active), INT(used_step), TIME(created_at), TIME(confirmed_at));

DB_ROWS_QUERY(select_factor, factor_row,
    "SELECT user_id, sealed, active, used_step, created_at, confirmed_at FROM user_factors"
    " WHERE user_id = $1");
DB_QUERY(begin_factor,
    "INSERT INTO user_factors (user_id, sealed, active, used_step, created_at, confirmed_at)"
    " VALUES ($1, $2, 0, 0, $3, NULL) ON CONFLICT (user_id) DO UPDATE"
    " SET sealed = excluded.sealed, created_at = excluded.created_at"
    " WHERE user_factors.active = 0");
DB_QUERY(confirm_factor,
    "UPDATE user_factors SET active = 1, used_step = $2, confirmed_at = $3"
    " WHERE user_id = $1 AND active = 0");
DB_QUERY(use_factor,
    "UPDATE user_factors SET used_step = $2 WHERE user_id = $1 AND used_step < $2");
DB_QUERY(delete_factor, "DELETE FROM user_factors WHERE user_id = $1");
DB_QUERY(delete_codes, "DELETE FROM recovery_codes WHERE user_id = $1");
DB_QUERY(insert_code, "INSERT INTO recovery_codes (user_id, digest) VALUES ($1, $2)");
DB_QUERY(count_codes,
    "SELECT COUNT(*) FROM recovery_codes WHERE user_id = $1");
DB_QUERY(find_code, "SELECT COUNT(*) FROM recovery_codes WHERE user_id = $1 AND digest = $2");
DB_QUERY(use_code, "DELETE FROM recovery_codes WHERE user_id = $1 AND digest = $2");
/* clang-format on */

static int factor_find(struct db *db, struct str user_id, struct arena *arena,
                       struct factor_row *ret, struct error *err)
{
    return rows_one(db, &select_factor, DB_ARGS(db_text(user_id)), arena, ret, err);
}

int factor_remove(struct db *db, struct str user_id, int64_t *ret_n, struct error *err)
{
    const struct db_args args = DB_ARGS(db_text(user_id));

    if (db_run(db, &delete_codes, args, err) != 0 || db_run(db, &delete_factor, args, err) != 0)
        return -1;
    if (ret_n != NULL)
        *ret_n = db_changes(db);
    return 0;
}

enum {
    RECOVERY_CHARS = 16,
    GROUP_CHARS = 4,
    HMAC_BYTES = 20,
    MILLION = 1000000,
    CONFIRM_S = 15 * 60, /* longer would be time to guess codes in */
};

static void totp_make_key(uint8_t ret[TOTP_KEY_BYTES])
{
    digest_random(ret, TOTP_KEY_BYTES);
}

void totp_key_text(const uint8_t key[TOTP_KEY_BYTES], char ret[TOTP_KEY_CHARS + 1])
{
    static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
    unsigned bits = 0;
    uint32_t held = 0;
    size_t n = 0;

    for (size_t i = 0; i < TOTP_KEY_BYTES; i++) {
        held = held << 8 | key[i];
        for (bits += 8; bits >= 5; bits -= 5)
            ret[n++] = alphabet[held >> (bits - 5) & 31];
    }
    ret[n] = '\0';
}

int64_t totp_step(int64_t wall_us)
{
    return wall_us / USEC_PER_SEC / TOTP_STEP_S;
}

void totp_code(const uint8_t key[TOTP_KEY_BYTES], int64_t step, char ret[TOTP_DIGITS + 1])
{
    uint8_t counter[8], mac[EVP_MAX_MD_SIZE];
    unsigned n = sizeof(mac);
    uint32_t number;
    size_t at;

    for (size_t i = 0; i < sizeof(counter); i++)
        counter[i] = (uint8_t)((uint64_t)step >> (56 - 8 * i));
    if (HMAC(EVP_sha1(), key, TOTP_KEY_BYTES, counter, sizeof(counter), mac, &n) == NULL ||
        n != HMAC_BYTES)
        err_die("HMAC-SHA-1 is not available");
    at = mac[HMAC_BYTES - 1] & 15;
    number = (uint32_t)(mac[at] & 127) << 24 | (uint32_t)mac[at + 1] << 16 |
             (uint32_t)mac[at + 2] << 8 | mac[at + 3];
    (void)snprintf(ret, TOTP_DIGITS + 1, "%06u", (unsigned)(number % MILLION));
}

bool totp_match(const uint8_t key[TOTP_KEY_BYTES], struct str code, int64_t now_step,
                int64_t used_step, int64_t *ret_step)
{
    bool found = false;

    for (int64_t step = now_step - 1; step <= now_step + 1; step++) {
        char wanted[TOTP_DIGITS + 1];

        totp_code(key, step, wanted);
        if (digest_equal_text(code, str_from(wanted, TOTP_DIGITS)) && step > used_step) {
            *ret_step = step;
            found = true;
        }
    }
    return found;
}

/* Names a key in the vault. It belongs to the platform, as its user does. */
static struct vault_label label_of(struct str user_id)
{
    return (struct vault_label){ .kind = "second-factor", .name = user_id, .version = 1 };
}

int factor_show(struct db *db, struct str user_id, struct arena *arena, struct factor_state *ret,
                struct error *err)
{
    struct factor_row row;

    *ret = (struct factor_state){ .confirmed_at = TIME_NULL };
    if (factor_find(db, user_id, arena, &row, err) != 0)
        return -1;
    if (str_is_null(row.user_id) || !row.active)
        return 0;
    ret->active = true;
    ret->confirmed_at = row.confirmed_at;
    return db_exec_int(db, &count_codes, DB_ARGS(db_text(user_id)), &ret->recovery_codes_left, err);
}

int factor_begin(struct api_call *call, struct db *db, struct error *err)
{
    const struct vault_label label = label_of(call->caller->user->user_id);
    const struct str name = buf_percent(call->caller->user->email, call->arena);
    struct factor_begun *answer = call->answer;
    uint8_t key[TOTP_KEY_BYTES];
    char text[TOTP_KEY_CHARS + 1];
    BUF_SCOPED(sealed, KIB(1));
    int r;

    totp_make_key(key);
    totp_key_text(key, text);
    r = vault_seal(vault_of(call->api->engine), db, &label,
                   str_from((const char *)key, sizeof(key)), &sealed, err);
    if (r == 0) {
        /* not active yet, in place of an earlier one that is not */
        r = db_run_or(db, &begin_factor,
                      DB_ARGS(db_text(call->caller->user->user_id), db_blob(buf_str(&sealed)),
                              db_int(clock_wall_us())),
                      err, ERR_CONFLICT, "You have a second factor already; remove it first");
    }
    *answer = (struct factor_begun){
        .secret = arena_copy(call->arena, str_of(text)),
        .uri = arena_printf(call->arena, "otpauth://totp/muster:%.*s?secret=%s&issuer=muster",
                            STR_ARG(name), text),
    };
    return r;
}

/* Is it a code of the app at this time, after the last one that was used? */
static int match_code(struct vault *vault, struct db *db, const struct factor_row *row,
                      struct str code, struct factor_check *ret, struct error *err)
{
    const struct vault_label label = label_of(row->user_id);
    struct buf key;
    int r;

    buf_init(&key, KIB(1));
    r = vault_open(vault, db, &label, row->sealed, &key, err);
    if (r == 0 && key.len != TOTP_KEY_BYTES)
        r = err_set(err, ERR_SCHEMA, "stored second factor has the wrong length");
    if (r == 0 && totp_match((const uint8_t *)key.data, code, totp_step(clock_wall_us()),
                             row->used_step, &ret->step))
        ret->verdict = FACTOR_GOOD;
    vault_wipe(&key);
    return r;
}

/* Lower case, without spaces and hyphens; what is too long is cut, and then wrong. */
static struct str normal_code(struct str code, char ret[FACTOR_CODE_MAX])
{
    size_t n = 0;

    for (size_t i = 0; i < code.len && n < FACTOR_CODE_MAX; i++) {
        const char c = code.data[i];

        if (c != ' ' && c != '-')
            ret[n++] = (char)(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
    }
    return str_from(ret, n);
}

static int match_recovery(struct vault *vault, struct db *db, struct str user_id, struct str code,
                          struct factor_check *ret, struct error *err)
{
    bool known = false;

    if (vault_digest(vault, db, code, &ret->recovery, err) != 0 ||
        db_exec_bool(db, &find_code, DB_ARGS(db_text(user_id), db_blob(digest_str(&ret->recovery))),
                     &known, err) != 0)
        return -1;
    ret->is_recovery = true;
    if (known)
        ret->verdict = FACTOR_GOOD;
    return 0;
}

int factor_check(const struct engine *e, struct db *db, struct str user_id, struct str given,
                 struct factor_check *ret, struct error *err)
{
    char room[FACTOR_CODE_MAX];
    struct factor_row row;
    ARENA_SCOPED(arena);
    struct str code;

    *ret = (struct factor_check){ .verdict = FACTOR_NONE };
    if (factor_find(db, user_id, &arena, &row, err) != 0)
        return -1;
    if (str_is_null(row.user_id) || !row.active)
        return 0;
    ret->verdict = FACTOR_NEEDED;
    code = normal_code(given, room);
    if (code.len == 0)
        return 0;
    ret->verdict = FACTOR_WRONG;
    if (code.len == TOTP_DIGITS)
        return match_code(vault_of(e), db, &row, code, ret, err);
    return match_recovery(vault_of(e), db, user_id, code, ret, err);
}

int factor_use(struct db *db, struct str user_id, const struct factor_check *check, bool *ret,
               struct error *err)
{
    assert(check->verdict == FACTOR_GOOD);
    if (check->is_recovery)
        return db_run_changed(db, &use_code,
                              DB_ARGS(db_text(user_id), db_blob(digest_str(&check->recovery))), ret,
                              err);
    return db_run_changed(db, &use_factor, DB_ARGS(db_text(user_id), db_int(check->step)), ret,
                          err);
}

/* "k7wq-2mzd-x4pt-9hvc": 80 random bits, in letters and digits that are not mistaken. */
static struct str make_recovery_code(struct arena *arena)
{
    static const char alphabet[] = "abcdefghijkmnpqrstuvwxyz23456789";
    uint8_t random[RECOVERY_CHARS];
    char text[RECOVERY_CHARS + RECOVERY_CHARS / GROUP_CHARS];
    size_t n = 0;

    digest_random(random, sizeof(random));
    for (size_t i = 0; i < RECOVERY_CHARS; i++) {
        if (i > 0 && i % GROUP_CHARS == 0)
            text[n++] = '-';
        text[n++] = alphabet[random[i] & 31];
    }
    return arena_copy(arena, str_from(text, n));
}

/* New codes in place of all others. */
static int make_recovery_codes(struct api_call *call, struct db *db, struct error *err)
{
    struct str *codes = ARENA_ARRAY(call->arena, struct str, RECOVERY_CODES);
    struct vault *vault = vault_of(call->api->engine);
    struct factor_recovery *answer = call->answer;
    const struct db_value user_id = db_text(call->caller->user->user_id);
    char room[FACTOR_CODE_MAX];
    struct sha256 digest;

    if (db_run(db, &delete_codes, DB_ARGS(user_id), err) != 0)
        return -1;
    for (size_t i = 0; i < RECOVERY_CODES; i++) {
        codes[i] = make_recovery_code(call->arena);
        if (vault_digest(vault, db, normal_code(codes[i], room), &digest, err) != 0 ||
            db_run(db, &insert_code, DB_ARGS(user_id, db_blob(digest_str(&digest))), err) != 0)
            return -1;
    }
    answer->recovery_codes = (struct list){ codes, RECOVERY_CODES };
    return 0;
}

int factor_confirm(struct api_call *call, struct db *db, struct error *err)
{
    const struct factor_code *body = call->body;
    struct factor_check check = { .verdict = FACTOR_WRONG };
    char room[FACTOR_CODE_MAX];
    struct factor_row row;
    const int64_t now = clock_wall_us();

    if (factor_find(db, call->caller->user->user_id, call->arena, &row, err) != 0)
        return -1;
    if (str_is_null(row.user_id) || row.active)
        return err_set(err, ERR_CONFLICT,
                       row.active ? "The second factor is active already"
                                  : "No second factor was begun: ask for a key first");
    if (now - row.created_at > (int64_t)CONFIRM_S * USEC_PER_SEC)
        return err_set(err, ERR_CONFLICT, "That was begun more than 15 minutes ago: begin again");
    if (match_code(vault_of(call->api->engine), db, &row, normal_code(body->code, room), &check,
                   err) != 0)
        return -1;
    if (check.verdict != FACTOR_GOOD)
        return call_refuse_body(call, err, "code", STR_NULL,
                                "Should be the code that the app shows now: check the clocks of "
                                "the device and the service");
    if (db_run_or(db, &confirm_factor,
                  DB_ARGS(db_text(call->caller->user->user_id), db_int(check.step), db_int(now)),
                  err, ERR_CONFLICT, "The second factor is active already") != 0)
        return -1;
    return make_recovery_codes(call, db, err);
}

int factor_renew(struct api_call *call, struct db *db, struct error *err)
{
    struct factor_row row;

    if (factor_find(db, call->caller->user->user_id, call->arena, &row, err) != 0)
        return -1;
    if (!row.active)
        return err_set(err, ERR_CONFLICT, "You have no second factor");
    return make_recovery_codes(call, db, err);
}
