/* problems.c - each problem is written when it is found, so the request need not be kept. */
#include "shape/problems.h"

#include "shape/json.h"

struct problem_text {
    struct problem_text *next;
    struct str text;
};

struct problems *problems_new(struct arena *arena, const char *source)
{
    struct problems *p = ARENA_NEW(arena, struct problems);

    p->arena = arena;
    p->source = source;
    p->last = &p->first;
    return p;
}

bool problems_refuse_list(struct problems *p, const struct path_step *at, size_t n)
{
    if (p->list_max == 0 || n <= p->list_max || at == NULL || at->up != NULL)
        return false;
    p->list_len = n;
    return true;
}

static void add_loc(struct buf *b, const struct path_step *at)
{
    if (at == NULL)
        return;
    add_loc(b, at->up);
    buf_add_char(b, ',');
    if (at->member != NULL)
        buf_add_json(b, str_of(at->member));
    else if (!str_is_null(at->name))
        buf_add_json(b, at->name);
    else
        buf_add_int(b, (int64_t)at->index);
}

struct words {
    const char *type;
    struct str msg;
    struct str input, ctx; /* JSON texts; STR_NULL: left out */
};

static bool is_full(const struct problems *p)
{
    return p->n == PROBLEMS_MAX || p->bytes > PROBLEMS_TEXT_MAX;
}

static void add_item(struct problems *p, const struct path_step *at, const struct words *words)
{
    struct problem_text *item = ARENA_NEW(p->arena, struct problem_text);
    BUF_SCOPED(b, SIZE_MAX / 2);

    buf_add_c(&b, "{\"type\":\"");
    buf_add_c(&b, words->type);
    buf_add_c(&b, "\",\"loc\":[\"");
    buf_add_c(&b, p->source);
    buf_add_c(&b, "\"");
    add_loc(&b, at);
    buf_add_c(&b, "],\"msg\":");
    buf_add_json(&b, words->msg);
    if (!str_is_null(words->input) && !p->hides_input) {
        buf_add_c(&b, ",\"input\":");
        buf_add(&b, words->input);
    }
    if (!str_is_null(words->ctx)) {
        buf_add_c(&b, ",\"ctx\":");
        buf_add(&b, words->ctx);
    }
    buf_add_char(&b, '}');
    item->text = buf_take(&b, p->arena);
    *p->last = item;
    p->last = &item->next;
    p->bytes += item->text.len;
    p->n++;
}

bool problems_report_ctx(struct problems *p, const struct path_step *at, struct complaint what,
                         struct yyjson_val *input, struct str ctx)
{
    struct words words = { .type = what.type, .msg = str_of(what.msg), .ctx = ctx };

    p->seen++;
    if (is_full(p))
        return false;
    if (input != NULL)
        words.input = json_write_short_text(input, PROBLEM_INPUT_MAX, p->arena);
    add_item(p, at, &words);
    return false;
}

bool problems_report(struct problems *p, const struct path_step *at, const struct complaint *what,
                     struct yyjson_val *input)
{
    return problems_report_ctx(p, at, *what, input, STR_NULL);
}

struct str problems_error_ctx(struct arena *arena, struct str error)
{
    BUF_SCOPED(b, SIZE_MAX / 2);

    buf_add_c(&b, "{\"error\":");
    buf_add_json(&b, error);
    buf_add_char(&b, '}');
    return buf_take(&b, arena);
}

void problems_report_json(struct problems *p, size_t position, const char *error)
{
    const struct path_step at = { .index = position };

    p->seen++;
    add_item(p, &at,
             &(struct words){ .type = "json_invalid",
                              .msg = STR_LIT("JSON decode error"),
                              .input = STR_LIT("{}"),
                              .ctx = problems_error_ctx(p->arena, str_of(error)) });
}

void problems_add_rule(struct problems *p, const struct path_step *path, size_t n, struct str input,
                       const char *sentence)
{
    struct path_step *steps;
    const struct path_step *at = p->at;

    p->seen++;
    if (is_full(p))
        return;
    steps = ARENA_ARRAY(p->arena, struct path_step, n);
    for (size_t i = 0; i < n; i++) {
        steps[i] = path[i];
        steps[i].up = at;
        at = &steps[i];
    }
    add_item(p, at,
             &(struct words){ .type = "value_error",
                              .msg = arena_printf(p->arena, "Value error, %s", sentence),
                              .input = input.len > PROBLEM_INPUT_MAX ? STR_NULL : input,
                              .ctx = problems_error_ctx(p->arena, str_of(sentence)) });
}

void rule_refuse_text(struct problems *problems, struct arena *arena, const char *name,
                      struct str value, const char *sentence)
{
    const struct path_step step = { .name = str_of(name) };
    struct str input = STR_NULL;
    BUF_SCOPED(text, PROBLEM_INPUT_MAX);

    if (str_is_null(value))
        buf_add_c(&text, "null");
    else
        buf_add_json(&text, value);
    if (!text.overflown)
        input = arena_copy(arena, buf_str(&text));
    problems_add_rule(problems, &step, 1, input, sentence);
}

void problems_write(const struct problems *p, struct buf *out)
{
    buf_add_c(out, "{\"detail\":[");
    for (const struct problem_text *item = p->first; item != NULL; item = item->next) {
        if (item != p->first)
            buf_add_char(out, ',');
        buf_add(out, item->text);
    }
    buf_add_c(out, "]}");
}
