/* config.c - builds an agent's configuration. */
#include "features/agents/config/config.h"

#include <assert.h>
#include <stdlib.h>

#include "base/digest.h"
#include "base/map.h"
#include "features/agents/config/params.h"
#include "features/agents/config/store.h"
#include "features/vault/secrets.h"
#include "features/vault/vault.h"

enum { TAG_BYTES = 16, MISSING_MAX = 4096, REFERENCES_MAX = 1000, ANSWER_MAX = 16 << 20 };
enum { SEALED_MAX = SECRET_MAX_BYTES + VAULT_OVERHEAD };

/* A parameter and the value set for it. */
struct config_part {
    const struct config_param_decl *param;
    const struct value_row *row; /* NULL: the default is in effect */
};

/* Has what the values refer to. */
struct resolver {
    const struct secrets *secrets;
    struct list rows; /* of struct secret, by name */
    struct vault_opener opener;
    struct arena *arena;
};

static int compare_names(const void *a, const void *b)
{
    return str_cmp(*(const struct str *)a, *(const struct str *)b);
}

/* Names of the secrets that the values refer to, each once; a configuration with more of them is
 * refused when it is surveyed. */
static struct list list_names(const struct config *c, struct arena *arena)
{
    struct str *names = ARENA_ARRAY(arena, struct str, REFERENCES_MAX);
    struct reference_part piece;
    size_t n = 0, once = 0;

    for (size_t i = 0; i < c->n_parts; i++) {
        const struct value_row *row = c->parts[i].row;

        for (size_t at = 0;
             row != NULL && n < REFERENCES_MAX && reference_next(row->value, &at, &piece);)
            if (piece.is_secret)
                names[n++] = piece.text;
    }
    qsort(names, n, sizeof(*names), compare_names);
    for (size_t i = 0; i < n; i++)
        if (once == 0 || !str_eq(names[once - 1], names[i]))
            names[once++] = names[i];
    return (struct list){ names, once };
}

/* Reads all secrets of the configuration at once, each with this many bytes of what is sealed. */
static int load_secrets(struct db *db, const struct config *c, int64_t bytes, struct resolver *ret,
                        struct error *err)
{
    const struct secrets_wanted wanted = { list_names(c, ret->arena), bytes };

    ret->secrets = c->secrets;
    ret->opener = (struct vault_opener){ .vault = c->secrets->vault, .db = db };
    if (wanted.names.n == 0)
        return 0;
    return secrets_named(db, c->secrets->tenant_id, &wanted, ret->arena, &ret->rows, err);
}

static int refuse_reference(const struct config_part *part, struct str name, const char *why,
                            struct error *err)
{
    return err_set(err, ERR_CONFLICT, "parameter '%.*s' refers to secret '%.*s', which %s",
                   STR_ARG(part->param->key), STR_ARG(name), why);
}

static int compare_row(const void *name, const void *row)
{
    return str_cmp(*(const struct str *)name, ((const struct secret *)row)->name);
}

/* The secret that this value refers to. */
static int find_secret(const struct resolver *r, const struct config_part *part, struct str name,
                       const struct secret **ret, struct error *err)
{
    *ret = r->rows.n == 0
               ? NULL
               : bsearch(&name, r->rows.items, r->rows.n, sizeof(struct secret), compare_row);
    if (*ret == NULL)
        return refuse_reference(part, name, "does not exist", err);
    if (!(*ret)->shared && part->row->scope != SCOPE_AGENT)
        return refuse_reference(
            part, name, "is not shared, so a value of the workspace may not refer to it", err);
    return 0;
}

/* Collects the secrets and the ETag of a configuration. */
struct survey {
    struct config *config;
    struct buf text;     /* input of the ETag */
    struct arena *arena; /* holds the names */
    const struct resolver *resolver;
    struct map seen; /* names of secrets */
    size_t n_references;
};

static void add_text(struct buf *out, struct str s)
{
    buf_printf(out, "%zu:", s.len);
    buf_add(out, s);
}

static void add_secret(struct survey *s, struct str name, struct str seal)
{
    struct config_secret *secret =
        (struct config_secret *)s->config->opened.items + s->config->opened.n;

    if (map_get(&s->seen, name) != NULL)
        return;
    *secret = (struct config_secret){ arena_copy(s->arena, name), arena_copy(s->arena, seal) };
    (void)map_put(&s->seen, secret->name, secret);
    s->config->opened.n++;
}

/* Checks that the secret exists. The ETag uses its nonce, which changes each time it is sealed. */
static int survey_secret(struct survey *s, const struct config_part *part, struct str name,
                         struct error *err)
{
    const struct secret *row;

    if (++s->n_references > REFERENCES_MAX)
        return err_set(err, ERR_CONFLICT, "parameter '%.*s': more than %d secret references",
                       STR_ARG(part->param->key), REFERENCES_MAX);
    if (find_secret(s->resolver, part, name, &row, err) != 0)
        return -1;
    assert(row != NULL);
    add_text(&s->text, row->sealed);
    add_secret(s, name, row->sealed);
    return 0;
}

static int survey_part(struct survey *s, const struct config_part *part, struct error *err)
{
    struct reference_part piece;
    size_t at = 0;

    add_text(&s->text, part->param->key);
    add_text(&s->text, part->param->value_type);
    buf_add_c(&s->text, part->param->required ? "required" : "");
    for (size_t i = 0; i < part->param->opciones.n; i++)
        add_text(&s->text, ((const struct str *)part->param->opciones.items)[i]);
    if (part->row == NULL) {
        add_text(&s->text, part->param->default_value);
        return 0;
    }
    buf_add_c(&s->text, "set");
    add_text(&s->text, part->row->value);
    while (reference_next(part->row->value, &at, &piece))
        if (piece.is_secret && survey_secret(s, part, piece.text, err) != 0)
            return -1;
    return 0;
}

/* Is there a value? A default that is not valid does not count. */
static bool has_value(const struct config_part *part, struct arena *arena)
{
    return part->row != NULL ||
           (part->param->default_value.len > 0 &&
            config_type_fits(part->param->value_type, part->param->default_value, arena));
}

static void add_escaped(struct buf *out, struct str s)
{
    for (size_t i = 0; i < s.len; i++) {
        char c = s.data[i], lower = (char)(c | 0x20);

        if ((lower >= 'a' && lower <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
            c == '.' || c == '~')
            buf_add_char(out, c);
        else
            buf_printf(out, "%%%02X", (unsigned char)c);
    }
}

/* As many keys as fit into a header. */
static struct str list_missing(const struct config *c, struct arena *arena)
{
    struct str text = STR_NULL;
    size_t whole = 0;
    BUF_SCOPED(out, MISSING_MAX);

    for (size_t i = 0; i < c->n_parts && !out.overflown; i++) {
        if (!c->parts[i].param->required || has_value(&c->parts[i], arena))
            continue;
        if (out.len > 0)
            buf_add_char(&out, ',');
        add_escaped(&out, c->parts[i].param->key);
        if (!out.overflown)
            whole = out.len;
    }
    if (whole > 0)
        text = arena_copy(arena, str_from(out.data, whole));
    return text;
}

static int make_tag(struct db *db, struct survey *s, struct error *err)
{
    struct sha256 digest;
    BUF_SCOPED(tag, 2 + 2 * TAG_BYTES + 1);

    if (vault_digest(s->config->secrets->vault, db, buf_str(&s->text), &digest, err) != 0)
        return -1;
    buf_add_char(&tag, '"');
    for (size_t i = 0; i < TAG_BYTES; i++)
        buf_printf(&tag, "%02x", digest.bytes[i]);
    buf_add_char(&tag, '"');
    s->config->tag = buf_take(&tag, s->arena);
    return 0;
}

static int survey(struct db *db, struct config *c, struct arena *arena, struct error *err)
{
    ARENA_SCOPED(scratch);
    struct resolver resolver = { .arena = &scratch };
    struct survey s = { .config = c, .arena = arena, .resolver = &resolver };
    int r = load_secrets(db, c, VAULT_OVERHEAD, &resolver, err);

    if (r != 0)
        return -1;
    map_init(&s.seen);
    buf_init(&s.text, SIZE_MAX); /* bounded by what is set and declared */
    c->opened = (struct list){ ARENA_ARRAY(arena, struct config_secret, REFERENCES_MAX), 0 };
    add_text(&s.text, c->agent_name);
    for (size_t i = 0; i < c->n_parts && r == 0; i++)
        r = survey_part(&s, &c->parts[i], err);
    if (r == 0)
        r = make_tag(db, &s, err);
    buf_done(&s.text);
    map_done(&s.seen);
    return r;
}

int config_prepare(struct db *db, const struct secrets *secrets, struct str agent_name,
                   struct arena *arena, struct config *ret, struct error *err)
{
    const struct directive_key target = { SCOPE_AGENT, secrets->tenant_id, agent_name };
    const struct config_param_decl *params;
    struct config_schema_decl decl;
    struct value_row *rows;
    struct list values;
    struct map by_key;

    *ret = (struct config){ .secrets = secrets, .agent_name = agent_name };
    if (params_of_agent(db, secrets->tenant_id, agent_name, arena, &decl, err) != 0 ||
        values_at(db, &target, arena, &values, err) != 0)
        return -1;
    map_init(&by_key);
    rows = values.items;
    for (size_t i = values.n; i-- > 0;) /* the agent's value replaces the workspace's */
        (void)map_put(&by_key, rows[i].key, &rows[i]);
    params = decl.params.items;
    ret->n_parts = decl.params.n;
    ret->parts = ARENA_ARRAY(arena, struct config_part, decl.params.n);
    for (size_t i = 0; i < decl.params.n; i++)
        ret->parts[i] = (struct config_part){ &params[i], map_get(&by_key, params[i].key) };
    map_done(&by_key);
    ret->missing = list_missing(ret, arena);
    return survey(db, ret, arena, err);
}

/* Appends the value, with its secrets resolved. */
static int resolve(struct resolver *r, const struct config_part *part, struct buf *out,
                   struct error *err)
{
    const struct secret *row;
    struct reference_part piece;
    size_t at = 0;

    while (reference_next(part->row->value, &at, &piece)) {
        if (!piece.is_secret) {
            buf_add(out, piece.text);
            continue;
        }
        if (find_secret(r, part, piece.text, &row, err) != 0 ||
            secrets_open(r->secrets, &r->opener, row, out, err) != 0)
            return -1;
    }
    return 0;
}

static int write_set(struct resolver *r, const struct config_part *part, struct buf *out,
                     struct error *err)
{
    bool fits = false;
    struct buf text;
    int status;

    buf_init(&text, ANSWER_MAX);
    status = resolve(r, part, &text, err);
    if (status == 0)
        fits = !text.overflown && params_fits(part->param, buf_str(&text), r->arena) &&
               config_type_write(part->param->value_type, buf_str(&text), r->arena, out);
    vault_wipe(&text);
    if (status == 0 && !fits)
        return err_set(err, ERR_CONFLICT,
                       "the value of parameter '%.*s' is not of type %.*s, or not one of its "
                       "choices",
                       STR_ARG(part->param->key), STR_ARG(part->param->value_type));
    return status;
}

static int write_part(struct resolver *r, const struct config_part *part, struct buf *out,
                      struct error *err)
{
    buf_add_json(out, part->param->key);
    buf_add_char(out, ':');
    if (part->row != NULL)
        return write_set(r, part, out, err);
    if (part->param->default_value.len == 0 ||
        !config_type_write(part->param->value_type, part->param->default_value, r->arena, out))
        buf_add_c(out, "null");
    return 0;
}

int config_write(struct db *db, const struct config *config, struct arena *arena, struct buf *out,
                 struct error *err)
{
    struct resolver resolver = { .arena = arena };
    int r = load_secrets(db, config, SEALED_MAX, &resolver, err);

    buf_add_char(out, '{');
    for (size_t i = 0; i < config->n_parts && r == 0; i++) {
        if (i > 0)
            buf_add_char(out, ',');
        r = write_part(&resolver, &config->parts[i], out, err);
    }
    buf_add_char(out, '}');
    vault_opener_done(&resolver.opener);
    if (r == 0 && out->overflown)
        return err_set(err, ERR_CONFLICT, "the configuration is too large to send");
    return r;
}
