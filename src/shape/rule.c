/* rule.c - checks that the rules of several shapes have in common. */
#include "shape/rule.h"

#include "base/clock.h"

void rule_refuse_text(struct problems *problems, struct arena *arena, const char *name,
                      struct str value, const char *sentence)
{
    const struct problem_step step = { .name = str_of(name) };
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

const char *rule_time_range(struct str *text, struct arena *arena)
{
    struct time_range range;

    (void)arena;
    return timerange_parse(*text, 0, &range); /* the grammar is the same at any time */
}

static bool check_moment(struct problems *problems, struct arena *arena, const char *name,
                         struct str text)
{
    int64_t moment;
    const char *sentence = str_is_null(text) ? NULL : timerange_parse_moment(text, 0, &moment);

    if (sentence != NULL)
        rule_refuse_text(problems, arena, name, text, sentence);
    return sentence == NULL;
}

void rule_check_since_until(struct problems *problems, struct arena *arena, struct str since,
                            struct str until, struct time_range *ret)
{
    bool since_ok = check_moment(problems, arena, "since", since);
    bool until_ok = check_moment(problems, arena, "until", until);
    const char *sentence = NULL;

    if (since_ok && until_ok)
        sentence = timerange_between(since, until, clock_wall_us(), ret);
    if (sentence != NULL)
        rule_refuse_text(problems, arena, "since", since, sentence);
}
