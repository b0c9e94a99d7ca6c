/* rule.c - what the rules of several shapes have in common. */
#include "shape/rule.h"

void rule_refuse_text(struct problems *problems, struct arena *arena, const char *name,
                      struct str value, const char *sentence)
{
    const struct problem_step step = { .name = str_of(name) };
    struct str input = STR_NULL;
    struct buf text;

    buf_init(&text, PROBLEM_INPUT_MAX);
    if (str_is_null(value))
        buf_add_c(&text, "null");
    else
        buf_add_json(&text, value);
    if (!text.overflown)
        input = arena_copy(arena, buf_str(&text));
    buf_done(&text);
    problems_add_rule(problems, &step, 1, input, sentence);
}
