/* json_unique.c - finds members with the same name, and copies a tree without them.
 *
 * Nearly every body has none, so the search must be cheap: small objects use a
 * table of bytes on the stack, whose worst case is bounded by their size; larger
 * ones use a keyed hash, so that a client cannot choose names that collide.
 */
#include "base/digest.h"
#include "shape/json.h"

enum { SMALL_MAX = 32, SMALL_SLOTS = 64 };

static bool same_name(yyjson_val *a, yyjson_val *b)
{
    return str_eq(json_str(a), json_str(b));
}

static unsigned small_hash(struct str name)
{
    const unsigned char *bytes = (const unsigned char *)name.data;

    if (name.len == 0)
        return 0;
    return (unsigned)name.len * 7 + bytes[0] + bytes[name.len / 2] * 5U + bytes[name.len - 1] * 3U;
}

static bool small_has_duplicates(yyjson_val *object, size_t n)
{
    uint8_t slots[SMALL_SLOTS] = { 0 }; /* index of a name plus 1, or 0 */
    yyjson_val *names[SMALL_MAX];
    yyjson_val *name = unsafe_yyjson_get_first(object);

    for (size_t i = 0; i < n; i++) {
        unsigned at = small_hash(json_str(name)) % SMALL_SLOTS;

        while (slots[at] != 0) {
            if (same_name(names[slots[at] - 1], name))
                return true;
            at = (at + 1) % SMALL_SLOTS;
        }
        names[i] = name;
        slots[at] = (uint8_t)(i + 1);
        name = unsafe_yyjson_get_next(name + 1);
    }
    return false;
}

/* The distinct names of an object, each with its last value. */
struct member {
    yyjson_val *name, *value;
};

struct members {
    struct member *items;
    size_t n;
};

static struct members distinct_members(yyjson_val *object, struct arena *arena)
{
    size_t n = unsafe_yyjson_get_len(object), capacity = 4;
    struct members ret = { .n = 0 };
    yyjson_val *name = unsafe_yyjson_get_first(object);
    uint32_t *slots; /* index of a member plus 1, or 0 */

    while (capacity < n * 2)
        capacity *= 2;
    slots = ARENA_ARRAY(arena, uint32_t, capacity);
    ret.items = arena_alloc(arena, n * sizeof(struct member));
    for (size_t i = 0; i < n; i++) {
        size_t at = (size_t)digest_sip(json_str(name)) & (capacity - 1);

        while (slots[at] != 0 && !same_name(ret.items[slots[at] - 1].name, name))
            at = (at + 1) & (capacity - 1);
        if (slots[at] == 0) {
            ret.items[ret.n++].name = name;
            slots[at] = (uint32_t)ret.n;
        }
        ret.items[slots[at] - 1].value = name + 1;
        name = unsafe_yyjson_get_next(name + 1);
    }
    return ret;
}

static bool has_duplicates(yyjson_val *object, struct arena *arena)
{
    size_t n = unsafe_yyjson_get_len(object);

    return n <= SMALL_MAX ? small_has_duplicates(object, n) : distinct_members(object, arena).n < n;
}

static void survey_values(struct json_survey *survey, yyjson_val *container, int depth,
                          struct arena *arena)
{
    size_t n = unsafe_yyjson_get_len(container);
    bool is_object = unsafe_yyjson_is_obj(container);
    yyjson_val *value = unsafe_yyjson_get_first(container);

    if (depth > JSON_DEPTH_MAX) {
        survey->too_deep = true;
        return;
    }
    if (is_object && !survey->duplicates)
        survey->duplicates = has_duplicates(container, arena);
    for (size_t i = 0; i < n && !survey->too_deep; i++) {
        value += is_object;
        if (unsafe_yyjson_is_ctn(value))
            survey_values(survey, value, depth + 1, arena);
        else
            survey->bignums |= unsafe_yyjson_is_raw(value);
        value = unsafe_yyjson_get_next(value);
    }
}

struct json_survey json_survey(yyjson_val *root, struct arena *arena)
{
    struct json_survey survey = { .bignums = unsafe_yyjson_is_raw(root) };

    if (unsafe_yyjson_is_ctn(root))
        survey_values(&survey, root, 1, arena);
    return survey;
}

/* Copies the subtree of `value` to *out, which is advanced past it. */
static void copy(yyjson_val *value, yyjson_val **out, struct arena *arena)
{
    yyjson_val *self = (*out)++;
    size_t n = unsafe_yyjson_get_len(value);

    *self = *value;
    if (unsafe_yyjson_is_obj(value)) {
        struct members members = distinct_members(value, arena);

        for (size_t i = 0; i < members.n; i++) {
            *(*out)++ = *members.items[i].name;
            copy(members.items[i].value, out, arena);
        }
        unsafe_yyjson_set_len(self, members.n);
    } else if (unsafe_yyjson_is_arr(value)) {
        yyjson_val *item = unsafe_yyjson_get_first(value);

        for (size_t i = 0; i < n; i++, item = unsafe_yyjson_get_next(item))
            copy(item, out, arena);
    } else {
        return;
    }
    self->uni.ofs = (size_t)(*out - self) * sizeof(*self);
}

yyjson_val *json_unique(yyjson_val *root, size_t n_values, struct arena *arena)
{
    yyjson_val *values = arena_alloc(arena, n_values * sizeof(*values));
    yyjson_val *out = values;

    copy(root, &out, arena);
    return values;
}
