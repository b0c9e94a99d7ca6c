/* id_token.c - checks the signature and the claims of an ID token. */
#include "features/oidc/id_token.h"

#include <yyjson.h>

#include "base/digest.h"

static int refuse(struct error *err, const char *why)
{
    return err_set(err, ERR_FORBIDDEN, "the ID token %s", why);
}

static struct str text_of(yyjson_val *value)
{
    return yyjson_is_str(value) ? str_from(yyjson_get_str(value), yyjson_get_len(value)) : STR_NULL;
}

static struct str claim_text(yyjson_val *claims, const char *name)
{
    return text_of(yyjson_obj_get(claims, name));
}

/* A time in seconds, which may have a fraction; false when it is missing or not a number. */
static bool claim_time(yyjson_val *claims, const char *name, int64_t *ret)
{
    yyjson_val *value = yyjson_obj_get(claims, name);
    const double seconds = yyjson_get_num(value);

    if (!yyjson_is_num(value) || !(seconds >= 0 && seconds < 1e12))
        return false;
    *ret = (int64_t)seconds;
    return true;
}

/* One of the two algorithms, or none. */
static bool find_alg(struct str name, enum jws_alg *ret)
{
    for (int i = 0; i < JWS_ALGS; i++)
        if (str_eq_c(name, jws_alg_names[i])) {
            *ret = (enum jws_alg)i;
            return true;
        }
    return false;
}

static int read_header(struct str text, struct arena *arena, struct jws *ret, struct error *err)
{
    yyjson_doc *doc;
    yyjson_val *root;
    struct str json;
    int r = 0;

    if (!base64url_decode(text, arena, &json))
        return refuse(err, "is not a signed token");
    doc = yyjson_read(json.data, json.len, YYJSON_READ_NOFLAG);
    root = yyjson_doc_get_root(doc);
    if (!yyjson_is_obj(root))
        r = refuse(err, "is not a signed token");
    else if (!find_alg(claim_text(root, "alg"), &ret->alg))
        r = refuse(err, "is not signed with RS256 or ES256");
    else if (yyjson_obj_get(root, "crit") != NULL) /* extensions that must be understood */
        r = refuse(err, "has a header that is not supported");
    ret->key_id = arena_copy(arena, claim_text(root, "kid"));
    yyjson_doc_free(doc);
    return r;
}

/* Cuts the token in three and checks its signature; *ret is the JSON of its claims. */
static int check_signature(struct str token, const struct jwks *keys, struct arena *arena,
                           struct str *ret, struct error *err)
{
    struct str rest = token, header, claims;
    struct jws jws = { 0 };

    header = str_split(&rest, '.');
    claims = str_is_null(rest) ? STR_NULL : str_split(&rest, '.');
    if (str_is_null(rest) || memchr(rest.data, '.', rest.len) != NULL)
        return refuse(err, "is not a signed token");
    if (read_header(header, arena, &jws, err) != 0)
        return -1;
    jws.text = str_from(token.data, header.len + 1 + claims.len);
    if (!base64url_decode(rest, arena, &jws.signature) || !base64url_decode(claims, arena, ret))
        return refuse(err, "is not a signed token");
    switch (jwks_verify(keys, &jws)) {
    case JWS_GOOD:
        return 0;
    case JWS_NO_KEY:
        return err_set(err, ERR_NOT_FOUND, "the ID token is signed with an unknown key");
    case JWS_BAD:
        break;
    }
    return err_set(err, ERR_NOT_FOUND, "the ID token has a wrong signature");
}

/* A token for several clients must name the one it was made for. */
static bool is_for_client(yyjson_val *claims, struct str client_id)
{
    yyjson_val *audience = yyjson_obj_get(claims, "aud"), *party = yyjson_obj_get(claims, "azp");
    bool found = str_eq(text_of(audience), client_id);
    yyjson_arr_iter each;
    yyjson_val *one;

    if (yyjson_arr_iter_init(audience, &each))
        while (!found && (one = yyjson_arr_iter_next(&each)) != NULL)
            found = yyjson_is_str(one) && str_eq(text_of(one), client_id);
    if (!found)
        return false;
    if (party == NULL)
        return yyjson_arr_size(audience) <= 1;
    return str_eq(text_of(party), client_id);
}

static int check_times(yyjson_val *claims, int64_t now_s, struct error *err)
{
    int64_t expires, issued, begins;

    if (!claim_time(claims, "exp", &expires) || !claim_time(claims, "iat", &issued))
        return refuse(err, "does not say when it was made and when it expires");
    if (expires + CLOCK_SKEW_S <= now_s)
        return refuse(err, "has expired: check the clocks of the provider and the service");
    if (issued > now_s + CLOCK_SKEW_S ||
        (claim_time(claims, "nbf", &begins) && begins > now_s + CLOCK_SKEW_S))
        return refuse(err, "is from the future: check the clocks of the provider and the service");
    if (issued < now_s - TOKEN_AGE_MAX_S)
        return refuse(err, "is too old: check the clocks of the provider and the service");
    return 0;
}

static int check_claims(yyjson_val *claims, const struct id_token_rules *rules, struct error *err)
{
    const struct str subject = claim_text(claims, "sub"), nonce = claim_text(claims, "nonce");

    if (!str_eq(claim_text(claims, "iss"), rules->issuer))
        return refuse(err, "is of another issuer");
    if (!is_for_client(claims, rules->client_id))
        return refuse(err, "is for another client");
    if (check_times(claims, rules->now_s, err) != 0)
        return -1;
    if (str_is_null(nonce) || !digest_equal_text(nonce, rules->nonce))
        return refuse(err, "is of another sign-in");
    if (subject.len == 0 || subject.len > SUBJECT_MAX ||
        memchr(subject.data, '\0', subject.len) != NULL)
        return refuse(err, "has no subject");
    return 0;
}

/* Of a list of names, or of one. */
static int read_groups(yyjson_val *value, struct arena *arena, struct id_claims *ret,
                       struct error *err)
{
    const size_t n = yyjson_is_arr(value) ? yyjson_arr_size(value) : 1;
    struct str *groups;
    yyjson_arr_iter each;
    yyjson_val *one;

    if (!yyjson_is_str(value) && !yyjson_is_arr(value))
        return 0;
    if (n > GROUPS_MAX)
        return err_set(err, ERR_FORBIDDEN,
                       "the person has %zu groups, more than %d: let the provider send only those "
                       "that are mapped",
                       n, GROUPS_MAX);
    groups = ARENA_ARRAY(arena, struct str, n + 1);
    ret->has_groups = true;
    ret->groups = (struct list){ groups, 0 };
    if (yyjson_is_str(value))
        groups[ret->groups.n++] = arena_copy(arena, text_of(value));
    else if (yyjson_arr_iter_init(value, &each))
        while ((one = yyjson_arr_iter_next(&each)) != NULL)
            if (yyjson_is_str(one))
                groups[ret->groups.n++] = arena_copy(arena, text_of(one));
    return 0;
}

/* What is not known yet. */
static int add_claims(yyjson_val *claims, const char *groups_claim, struct arena *arena,
                      struct id_claims *ret, struct error *err)
{
    yyjson_val *verified = yyjson_obj_get(claims, "email_verified");
    yyjson_val *elsewhere = yyjson_obj_get(claims, "_claim_names"); /* Core 1.0, section 5.6.2 */

    if (str_is_null(ret->email)) { /* with its own email_verified, not that of the other source */
        ret->email = arena_copy(arena, claim_text(claims, "email"));
        ret->email_verified = yyjson_is_true(verified) || str_eq_c(text_of(verified), "true");
    }
    if (yyjson_obj_get(elsewhere, groups_claim) != NULL)
        ret->groups_elsewhere = true;
    return ret->has_groups ? 0 : read_groups(yyjson_obj_get(claims, groups_claim), arena, ret, err);
}

int id_token_read(struct str token, const struct jwks *keys, const struct id_token_rules *rules,
                  struct arena *arena, struct id_claims *ret, struct error *err)
{
    yyjson_val *claims;
    yyjson_doc *doc;
    struct str json = STR_NULL;
    int r = -1;

    *ret = (struct id_claims){ 0 };
    if (check_signature(token, keys, arena, &json, err) != 0)
        return -1;
    doc = yyjson_read(json.data, json.len, YYJSON_READ_NOFLAG);
    claims = yyjson_doc_get_root(doc);
    if (!yyjson_is_obj(claims)) {
        (void)refuse(err, "is not a signed token");
    } else if (check_claims(claims, rules, err) == 0) {
        ret->subject = arena_copy(arena, claim_text(claims, "sub"));
        r = add_claims(claims, rules->groups_claim, arena, ret, err);
    }
    yyjson_doc_free(doc);
    return r;
}

int id_claims_add(struct str json, const char *groups_claim, struct arena *arena,
                  struct id_claims *claims, struct error *err)
{
    yyjson_doc *doc = yyjson_read(json.data, json.len, YYJSON_READ_NOFLAG);
    yyjson_val *root = yyjson_doc_get_root(doc);
    int r;

    if (!yyjson_is_obj(root))
        r = err_set(err, ERR_UNAVAILABLE, "its UserInfo endpoint did not answer JSON");
    else if (!str_eq(claim_text(root, "sub"), claims->subject))
        r = err_set(err, ERR_FORBIDDEN, "the UserInfo endpoint answered about another person");
    else
        r = add_claims(root, groups_claim, arena, claims, err);
    yyjson_doc_free(doc);
    return r;
}
