/* json.c - reads with yyjson into the arena; unusual text is read a second time, slowly. */
#include "shape/json.h"

#include <math.h>
#include <stdlib.h>

#include "base/mem.h"

enum { LARGE_FROM = 1 << 20 };

/* yyjson allocates an array of values and grows it when its guess was too small. Growing in an
 * arena leaves garbage, so the first growth makes the array as large as any sane text needs;
 * untouched memory costs nothing. */
struct room {
    struct arena *arena;
    size_t values_max; /* bytes */
    void *block;
    size_t block_size;
};

static void *room_malloc(void *ctx, size_t size)
{
    struct room *room = ctx;

    return arena_alloc(room->arena, size);
}

static void *room_realloc(void *ctx, void *memory, size_t old_size, size_t size)
{
    struct room *room = ctx;
    size_t reserved = size > room->values_max ? size : room->values_max;
    void *moved;

    if (size <= old_size || (memory == room->block && size <= room->block_size))
        return memory;
    moved = arena_alloc(room->arena, reserved);
    memcpy(moved, memory, old_size);
    room->block = moved;
    room->block_size = reserved;
    return moved;
}

static void room_free(void *ctx, void *memory)
{
    (void)ctx; /* freed with the arena */
    (void)memory;
}

static yyjson_doc *parse(struct str text, struct arena *arena)
{
    /* A value takes two bytes of text or more ("0,"); yyjson asks for half as much again. */
    struct room room = { .arena = arena,
                         .values_max = (text.len / 4 * 3 + 32) * sizeof(struct yyjson_val) };
    yyjson_alc alc = { room_malloc, room_realloc, room_free, &room };
    char *copy = arena_alloc(arena, text.len + YYJSON_PADDING_SIZE); /* the strings stay in it */

    memcpy(copy, text.data, text.len);
    memset(copy + text.len, 0, YYJSON_PADDING_SIZE);
    return yyjson_read_opts(copy, text.len, YYJSON_READ_INSITU | YYJSON_READ_BIGNUM_AS_RAW, &alc,
                            NULL);
}

static void *heap_malloc(void *ctx, size_t size)
{
    (void)ctx;
    return mem_alloc(size);
}

static void *heap_realloc(void *ctx, void *memory, size_t old_size, size_t size)
{
    (void)ctx;
    (void)old_size;
    return mem_resize(memory, size);
}

static void heap_free(void *ctx, void *memory)
{
    (void)ctx;
    free(memory);
}

yyjson_doc *json_read_stored(struct str text)
{
    static const yyjson_alc heap = { heap_malloc, heap_realloc, heap_free, NULL };
    char *unchanged; /* it takes a copy unless it is told to read in place */

    memcpy((void *)&unchanged, (const void *)&text.data, sizeof(unchanged));
    return yyjson_read_opts(unchanged, text.len, 0, &heap, NULL);
}

/* A text of brackets alone makes a value of every byte, so the depth of a large text is checked
 * before it may take that much memory. Exact for well-formed text; json_diagnose() decides on the
 * rest. */
static bool looks_too_deep(struct str text)
{
    size_t depth = 0;
    bool in_string = false;

    for (size_t i = 0; i < text.len; i++) {
        char c = text.data[i];

        if (c == '"')
            in_string = !in_string;
        else if (in_string)
            i += c == '\\';
        else if ((c == '[' || c == '{') && ++depth > JSON_DEPTH_MAX)
            return true;
        else if ((c == ']' || c == '}') && depth > 0)
            depth--;
    }
    return false;
}

static bool fault_at(struct json_fault *fault, const char *error, struct str text, size_t byte)
{
    *fault = (struct json_fault){ error, utf8_count(str_from(text.data, byte)) };
    return true;
}

/* UTF-16 without a BOM has a NUL among its first two bytes. */
static bool is_not_utf8(struct str text, struct json_fault *fault)
{
    size_t valid = utf8_valid_len(text);

    for (size_t i = 0; i < 2 && text.len >= 2; i++) {
        if (text.data[i] == '\0')
            return fault_at(fault, "Invalid UTF-8", text, i);
    }
    return valid < text.len && fault_at(fault, "Invalid UTF-8", text, valid);
}

/* The four hex digits at `at`, of an escape known to be well-formed. */
static unsigned hex4(const char *at)
{
    char digits[5] = { at[0], at[1], at[2], at[3], '\0' };

    return (unsigned)strtoul(digits, NULL, 16);
}

/* A copy of well-formed text in which every lone surrogate escape is \u0000. */
static struct str without_lone_surrogates(struct str text, struct arena *arena)
{
    char *copy = arena_alloc(arena, text.len);
    char *end = copy + text.len;

    memcpy(copy, text.data, text.len);
    for (char *at = copy; at < end; at++) {
        unsigned unit;

        if (*at != '\\')
            continue;
        if (*++at != 'u')
            continue;
        unit = hex4(at + 1);
        if (unit >= 0xd800 && unit <= 0xdbff && end - at > 10 && at[5] == '\\' && at[6] == 'u' &&
            hex4(at + 7) >= 0xdc00 && hex4(at + 7) <= 0xdfff)
            at += 6; /* a pair */
        else if (unit >= 0xd800 && unit <= 0xdfff)
            memset(at + 1, '0', 4);
        at += 4;
    }
    return str_from(copy, text.len);
}

/* After yyjson refused: says why, or reads lone surrogates, which we accept. */
static yyjson_doc *parse_again(struct str text, struct arena *arena, struct json_fault *fault)
{
    yyjson_doc *doc;

    if (is_not_utf8(text, fault) || json_diagnose(text, fault))
        return NULL;
    doc = parse(without_lone_surrogates(text, arena), arena);
    if (doc == NULL)
        *fault = (struct json_fault){ "Expecting value", 0 };
    return doc;
}

int json_read(struct str text, struct arena *arena, struct json_doc *ret, struct json_fault *fault)
{
    static const struct str bom = STR_INIT("\xef\xbb\xbf");
    struct json_survey survey;
    yyjson_doc *doc;

    if (str_starts(text, bom))
        text = str_from(text.data + bom.len, text.len - bom.len);
    doc = text.len > LARGE_FROM && looks_too_deep(text) ? NULL : parse(text, arena);
    if (doc == NULL)
        doc = parse_again(text, arena, fault);
    if (doc == NULL)
        return -1;
    ret->root = yyjson_doc_get_root(doc);
    survey = json_survey(ret->root, arena);
    if (survey.too_deep) {
        (void)json_diagnose(text, fault); /* finds the bracket */
        return -1;
    }
    if (survey.duplicates)
        ret->root = json_unique(ret->root, yyjson_doc_get_val_count(doc), arena);
    ret->plain = memchr(text.data, '\\', text.len) == NULL;
    ret->bignums = survey.bignums;
    return 0;
}

bool json_is_raw_real(yyjson_val *value)
{
    struct str text;

    if (!unsafe_yyjson_is_raw(value))
        return false;
    text = json_str(value);
    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] == '.' || text.data[i] == 'e' || text.data[i] == 'E')
            return true;
    }
    return false;
}

double json_raw_to_real(yyjson_val *value)
{
    struct str text = json_str(value);
    char digits[400]; /* more than the at most 309 digits of a finite double */

    if (text.len >= sizeof(digits))
        return text.data[0] == '-' ? -INFINITY : INFINITY;
    memcpy(digits, text.data, text.len);
    digits[text.len] = '\0';
    return strtod(digits, NULL);
}
