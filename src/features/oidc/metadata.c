/* metadata.c - reads the discovery document. */
#include "features/oidc/metadata.h"

#include <yyjson.h>

#include "features/oidc/fetch.h"

static struct str text_of(yyjson_val *value)
{
    return yyjson_is_str(value) ? str_from(yyjson_get_str(value), yyjson_get_len(value)) : STR_NULL;
}

static int read_endpoint(yyjson_val *root, const char *name, struct arena *arena, struct str *ret,
                         struct error *err)
{
    *ret = arena_copy(arena, text_of(yyjson_obj_get(root, name)));
    if (str_is_null(*ret))
        return err_set(err, ERR_INVALID, "its discovery document has no %s", name);
    if (!fetch_is_allowed(*ret))
        return err_set(err, ERR_INVALID, "its %s is not an https:// URL", name);
    return 0;
}

static int read_optional(yyjson_val *root, const char *name, struct arena *arena, struct str *ret,
                         struct error *err)
{
    *ret = STR_NULL;
    return yyjson_obj_get(root, name) == NULL ? 0 : read_endpoint(root, name, arena, ret, err);
}

/* Without a list Basic is what every provider knows. */
static bool knows_basic(yyjson_val *methods)
{
    yyjson_arr_iter each;
    yyjson_val *one;

    if (!yyjson_arr_iter_init(methods, &each))
        return true;
    while ((one = yyjson_arr_iter_next(&each)) != NULL)
        if (str_eq_c(text_of(one), "client_secret_basic"))
            return true;
    return false;
}

static int read_root(yyjson_val *root, const char *issuer, struct arena *arena,
                     struct metadata *ret, struct error *err)
{
    if (!yyjson_is_obj(root))
        return err_set(err, ERR_INVALID, "its discovery document is not a JSON object");
    if (!str_eq_c(text_of(yyjson_obj_get(root, "issuer")), issuer))
        return err_set(err, ERR_INVALID,
                       "its discovery document names another issuer: oidc_issuer must be the same "
                       "to the letter");
    if (read_endpoint(root, "authorization_endpoint", arena, &ret->authorization_endpoint, err) !=
            0 ||
        read_endpoint(root, "token_endpoint", arena, &ret->token_endpoint, err) != 0 ||
        read_endpoint(root, "jwks_uri", arena, &ret->jwks_uri, err) != 0)
        return -1;
    ret->secret_in_body =
        !knows_basic(yyjson_obj_get(root, "token_endpoint_auth_methods_supported"));
    if (read_optional(root, "userinfo_endpoint", arena, &ret->userinfo_endpoint, err) != 0)
        return -1;
    return read_optional(root, "end_session_endpoint", arena, &ret->end_session_endpoint, err);
}

int metadata_read(struct str json, const char *issuer, struct arena *arena, struct metadata *ret,
                  struct error *err)
{
    yyjson_doc *doc = yyjson_read(json.data, json.len, YYJSON_READ_NOFLAG);
    int r = read_root(yyjson_doc_get_root(doc), issuer, arena, ret, err);

    yyjson_doc_free(doc);
    return r;
}
