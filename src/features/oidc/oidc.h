/* oidc.h - the state of this feature, for its own files. */
#pragma once
#include <stdatomic.h>
#include <stdbool.h>

#include "api/route.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/digest.h"
#include "base/err.h"
#include "base/str.h"
#include "cli/command.h"
#include "shape/shape.h"

struct db;
struct engine;
struct jwks;
struct provider;
struct workers;

/* What settings say, and what runs; of a command, and without oidc_issuer, only the former. */
struct oidc {
    struct str redirect_uri;
    struct provider *provider; /* NULL: not enabled */
    struct workers *workers;
};

/* Any thread. */
const struct oidc *oidc_of(const struct engine *e);

enum { FETCH_REPLY_MAX = 256 << 10, FETCH_TIMEOUT_MS = 10000, FETCH_CONNECT_MS = 5000 };

struct fetch {
    const char *url;
    const char *form;            /* body of a POST; NULL: GET */
    const char *user, *password; /* Basic authentication; NULL: none */
    const char *bearer;          /* access token; NULL: none */
    const atomic_bool *cancel;   /* true: end at once; NULL: never */
};

/* May the service ask this URL: https, or http on this machine? */
bool fetch_is_allowed(struct str url);

/* The text form of bytes in tokens and keys. The bytes are in the arena; false unless all of the
 * text is base64url without padding. */
bool base64url_decode(struct str text, struct arena *arena, struct str *ret);

enum { JWKS_KEYS_MAX = 32, RSA_BITS_LEAST = 2048, RSA_BITS_MOST = 8192 };

enum jws_alg { JWS_RS256, JWS_ES256, JWS_ALGS };

extern const char *const jws_alg_names[]; /* of enum jws_alg, ends in NULL */

enum jws_verdict { JWS_GOOD, JWS_BAD, JWS_NO_KEY };

/* Reads a key set; the caller owns *ret. ERR_INVALID when it is not one, or has no usable key. */
int jwks_read(struct str json, struct jwks **ret, struct error *err) MUST_CHECK;

/* NULL is fine. */
void jwks_free(struct jwks *keys);

struct jws {
    enum jws_alg alg;
    struct str key_id; /* STR_NULL: the token names none, so any key of the type may have made it */
    struct str text;   /* what is signed */
    struct str signature; /* raw: RSASSA-PKCS1-v1_5, or r and s of 32 bytes each */
};

enum {
    SUBJECT_MAX = 255, /* bytes, as the standard says */
    GROUPS_MAX = 500,  /* of a person; more are refused, not cut */
    CLOCK_SKEW_S = 60,
    TOKEN_AGE_MAX_S = 600,
};

struct id_token_rules {
    struct str issuer, client_id, nonce;
    const char *groups_claim;
    int64_t now_s; /* wall clock */
};

struct id_claims {
    struct str subject;
    struct str email;    /* STR_NULL: not said */
    bool email_verified; /* false: not said, or not so */
    bool has_groups;
    struct list groups;    /* of struct str */
    bool groups_elsewhere; /* too many for the token: it only says where to ask for them */
    struct str token;      /* the ID token itself, of provider_redeem() */
};

/* Checks a token and reads its claims into the arena. ERR_NOT_FOUND: none of `keys` signed it, but
 * a newer one may have. ERR_FORBIDDEN: not to be believed, with the reason. */
int id_token_read(struct str token, const struct jwks *keys, const struct id_token_rules *rules,
                  struct arena *arena, struct id_claims *ret, struct error *err) MUST_CHECK;

/* Adds what the token did not say, out of the answer of the UserInfo endpoint about the same
 * subject. ERR_FORBIDDEN: it is about another one; ERR_UNAVAILABLE: it is no JSON object. */
int id_claims_add(struct str json, const char *groups_claim, struct arena *arena,
                  struct id_claims *claims, struct error *err) MUST_CHECK;

/* Texts are borrowed. */
struct provider_options {
    const char *issuer, *client_id;
    const char *secret_file; /* empty: a public client */
    const char *scopes, *groups_claim;
    struct str redirect_uri;
    const atomic_bool *cancel; /* true: end requests at once */
};

/* One sign-in, between its begin and its return. The browser keeps all of it: a cookie with 256
 * random bits. State, nonce and PKCE verifier are hashes of those bits, so the service remembers
 * nothing about sign-ins that were begun, however many there are, and any node can finish what
 * another began. What the provider and its URLs show, the state, the nonce and the challenge, does
 * not reveal the bits or the verifier. */
struct flow {
    char state[BASE64URL_LEN + 1], nonce[BASE64URL_LEN + 1];
    char verifier[BASE64URL_LEN + 1];
    char challenge[BASE64URL_LEN + 1]; /* S256 of the verifier */
};

/* Of the cookie's text. */
void flow_of(struct str secret, struct flow *ret);

/* What a provider says about itself (OpenID Connect Discovery 1.0). */
struct metadata {
    struct str authorization_endpoint, token_endpoint, jwks_uri;
    struct str userinfo_endpoint, end_session_endpoint; /* STR_NULL: none */
    bool secret_in_body; /* the token endpoint does not know Basic authentication */
};

/* Reads the document of this issuer into the arena. ERR_INVALID: it is of another one, or lacks an
 * endpoint, or one is not https. Pure. */
int metadata_read(struct str json, const char *issuer, struct arena *arena, struct metadata *ret,
                  struct error *err) MUST_CHECK;

struct provider *provider_new(const struct provider_options *options);

/* NULL is fine. */
void provider_free(struct provider *p);

/* Where the browser goes to sign in; in the arena. ERR_UNAVAILABLE: the provider cannot be reached,
 * or what it answers is of no use. */
int provider_sign_in_url(struct provider *p, const struct flow *flow, struct arena *arena,
                         struct str *ret, struct error *err) MUST_CHECK;

/* Where the browser goes to sign out, with the ID token that it signed in with; in the arena.
 * STR_NULL: the provider has no such page. ERR_UNAVAILABLE as above. */
int provider_sign_out_url(struct provider *p, struct str id_token, struct arena *arena,
                          struct str *ret, struct error *err) MUST_CHECK;

/* Exchanges the code for an ID token, checks it, and completes its claims; in the arena.
 * ERR_UNAVAILABLE as above; ERR_INVALID: the provider refuses the code; ERR_FORBIDDEN: it refuses
 * this client, or its answer is not to be believed; with the reason. */
int provider_redeem(struct provider *p, struct str code, const struct flow *flow,
                    struct arena *arena, struct id_claims *ret, struct error *err) MUST_CHECK;

enum { GROUP_NAME_MAX = 256, CODE_MAX = 4096 };

/* The role that a group gives: of the platform, or in a tenant. */
enum group_role { GROUP_PLATFORM_ADMIN, GROUP_ADMIN, GROUP_MEMBER };

struct oidc_state {
    bool enabled;
    struct str name; /* null: not enabled */
    bool password_sign_in;
};

struct oidc_begun {
    struct str url;
};

struct oidc_sign_out {
    struct str url; /* null */
};

struct oidc_return {
    struct str code, state;
    struct str iss; /* null */
};

struct oidc_group_create {
    struct str group;
    int role;          /* enum group_role */
    struct str tenant; /* slug; null: the platform */
};

struct oidc_group {
    struct str group_id, group;
    int role;          /* enum group_role */
    int64_t tenant_id; /* 0: the platform; not shown */
    struct str tenant; /* slug; null: the platform */
    int64_t created_at;
};

struct oidc_group_path {
    struct str group_id;
};

struct oidc_group_deleted {
    struct str group_id;
};

struct identity_create {
    struct str subject;
};

extern const struct shape oidc_state_shape, oidc_begun_shape, oidc_sign_out_shape,
    oidc_return_shape, oidc_group_create_shape, oidc_group_shape, oidc_group_list_shape,
    oidc_group_path_shape, oidc_group_deleted_shape, identity_create_shape, identity_list_shape;

/* Those of the platform first, then by tenant and name; without those of deleted tenants: a list of
 * struct oidc_group, in the arena. */
int groups_load(struct db *db, struct arena *arena, struct list *ret, struct error *err) MUST_CHECK;

enum { GROUP_ROWS_MAX = 1000 }; /* they are all read at each sign-in */

/* ERR_CONFLICT when the group has a role there already, or there are GROUP_ROWS_MAX. */
int group_add(struct db *db, const struct oidc_group *row, struct error *err) MUST_CHECK;

/* ERR_NOT_FOUND. */
int group_remove(struct db *db, struct str group_id, struct error *err) MUST_CHECK;

enum { REFUSAL_MAX = 1024 }; /* room for an e-mail address and a subject */

struct person {
    struct str issuer;
    const struct id_claims *claims;
    bool any_email; /* an address need not be verified */
};

struct person_admission {
    bool refused;
    char why[REFUSAL_MAX]; /* a sentence, if refused */
    struct str email;      /* of the user, in the arena; STR_NULL: unknown user */
    bool created;          /* the user is new */
    bool changed;          /* some role is another than before */
};

/* A refusal is a success here: it may have taken roles away, which must be committed. */
int person_admit(struct db *db, const struct person *person, struct arena *arena,
                 struct person_admission *ret, struct error *err) MUST_CHECK;

enum { WORKERS = 4, WORKERS_QUEUE_MAX = 64, WORKERS_WAIT_MAX_S = 15 };

/* Owned by the submitter, until run(). */
struct worker_job {
    struct worker_job *next; /* internal, as is queued_us */
    int64_t queued_us;

    /* On a worker's thread, exactly once. `err` is NULL, or says why the job must not be begun. */
    void (*run)(struct worker_job *job, const struct error *err);
};

/* The caller owns *ret. */
int workers_new(struct workers **ret, struct error *err) MUST_CHECK;

/* From now on no job is started, not even a queued one, and workers_cancel() is true. */
void workers_stop(struct workers *w);

/* Stops, and waits for what was begun. Jobs may still be submitted: they are refused. */
void workers_end(struct workers *w);

/* No other thread may use it any longer. NULL is fine. */
void workers_free(struct workers *w);

/* True once they are to stop. */
const atomic_bool *workers_cancel(const struct workers *w);

/* Any thread. ERR_BUSY when the queue is full: run() is then not called. */
int workers_submit(struct workers *w, struct worker_job *job, struct error *err) MUST_CHECK;

extern const struct route oidc_sign_in_routes[], oidc_routes[];
extern const struct command oidc_commands[];
