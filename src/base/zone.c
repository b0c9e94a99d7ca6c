/* zone.c - the files of time zones, and the spans between their changes. */
#include "base/zone.h"

#include <assert.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/datetime.h"
#include "base/lock.h"
#include "base/map.h"
#include "base/mem.h"

enum {
    NAME_MAX_LEN = 64,
    FILE_MAX = 64 << 10,
    HEAD_LEN = 44,  /* of a TZif file, and of its second part */
    COUNTS_AT = 20, /* in the head: six numbers of four bytes */
    TYPE_LEN = 6,   /* of a local time type: its offset, whether it is summer time, its name */
    CHANGES_MAX = 4096
};

/* When summer time begins and ends in all years to come, as POSIX writes it in TZ:
 * "CET-1CEST,M3.5.0,M10.5.0/3". The last line of a time zone's file. */

enum { DAY_S = 86400, HOUR_S = 3600, CHANGE_HOUR = 2 };

/* A day of each year, and the local time of the change. POSIX can also number the days of a year,
 * which no zone does. */
struct zone_day {
    int month, week, weekday; /* week 5 is the last one; Sunday is 0 */
    int64_t time_s;           /* since midnight; may be negative, or beyond the day */
};

struct zone_rule {
    int64_t standard_s, summer_s; /* local time minus UTC */
    bool has_summer;
    struct zone_day begins, ends; /* of summer time */
};

/* "CET", "<+0330>". */
static bool skip_name(struct str *r)
{
    size_t n = 0;

    if (str_take(r, '<')) {
        (void)str_split(r, '>');
        return !str_is_null(*r);
    }
    while (n < r->len &&
           ((r->data[n] >= 'A' && r->data[n] <= 'Z') || (r->data[n] >= 'a' && r->data[n] <= 'z')))
        n++;
    *r = str_from(r->data + n, r->len - n);
    return n > 0;
}

/* "-3:30", "2", "-167:00:00". */
static bool read_time(struct str *r, int64_t *ret_s)
{
    bool is_negative = str_take(r, '-');
    int hours, minutes = 0, seconds = 0;

    if (!is_negative)
        (void)str_take(r, '+');
    if (!str_take_number(r, 167, &hours) ||
        (str_take(r, ':') && (!str_take_number(r, 59, &minutes) ||
                              (str_take(r, ':') && !str_take_number(r, 59, &seconds)))))
        return false;
    *ret_s = (int64_t)hours * HOUR_S + (int64_t)minutes * 60 + seconds;
    if (is_negative)
        *ret_s = -*ret_s;
    return true;
}

static bool read_day(struct str *r, struct zone_day *ret)
{
    *ret = (struct zone_day){ .time_s = (int64_t)CHANGE_HOUR * HOUR_S };
    return str_take(r, 'M') && str_take_number(r, 12, &ret->month) && str_take(r, '.') &&
           str_take_number(r, 5, &ret->week) && str_take(r, '.') &&
           str_take_number(r, 6, &ret->weekday) && ret->month > 0 && ret->week > 0 &&
           (!str_take(r, '/') || read_time(r, &ret->time_s));
}

static bool parse_rule(struct str text, struct zone_rule *ret)
{
    struct str r = text;

    *ret = (struct zone_rule){ 0 };
    if (!skip_name(&r) || !read_time(&r, &ret->standard_s))
        return false;
    ret->standard_s = -ret->standard_s; /* POSIX counts to the west */
    if (r.len == 0)
        return true;
    ret->has_summer = true;
    ret->summer_s = ret->standard_s + HOUR_S;
    if (!skip_name(&r))
        return false;
    if (!str_take(&r, ',')) {
        if (!read_time(&r, &ret->summer_s) || !str_take(&r, ','))
            return false;
        ret->summer_s = -ret->summer_s;
    }
    return read_day(&r, &ret->begins) && str_take(&r, ',') && read_day(&r, &ret->ends) &&
           r.len == 0;
}

static int64_t day_number(int year, int month, int day)
{
    return datetime_join(&(struct datetime_parts){ .year = year, .month = month, .day = day }) /
           USEC_PER_SEC / DAY_S;
}

static int64_t day_of(const struct zone_day *d, int year)
{
    int64_t first = day_number(year, d->month, 1);
    int64_t next = d->month == 12 ? day_number(year + 1, 1, 1) : day_number(year, d->month + 1, 1);
    int64_t day =
        first + (d->weekday - datetime_weekday(first) + 7) % 7 + (int64_t)7 * (d->week - 1);

    return day < next ? day : day - 7;
}

struct change {
    int64_t at_s, offset_s; /* the offset from then on */
};

/* The changes of the years around a time, in order. */
enum { YEARS = 5, CHANGES = 2 * YEARS };

static size_t list_changes(const struct zone_rule *rule, int year, struct change *ret)
{
    size_t n = 0;

    for (int y = year - 2; y <= year + 2; y++) {
        struct change begins = { day_of(&rule->begins, y) * DAY_S + rule->begins.time_s -
                                     rule->standard_s,
                                 rule->summer_s };
        struct change ends = { day_of(&rule->ends, y) * DAY_S + rule->ends.time_s - rule->summer_s,
                               rule->standard_s };
        bool is_north = begins.at_s < ends.at_s;

        ret[n++] = is_north ? begins : ends;
        ret[n++] = is_north ? ends : begins;
    }
    return n;
}

/* The span around a time, as if the rule had always held. */
static struct zone_span rule_span(const struct zone_rule *rule, int64_t at_s)
{
    struct change changes[CHANGES];
    size_t n, i;

    if (!rule->has_summer)
        return (struct zone_span){ INT64_MIN, INT64_MAX, rule->standard_s, rule->standard_s };
    n = list_changes(rule, datetime_split(at_s * USEC_PER_SEC).year, changes);
    for (i = 1; i + 1 < n && changes[i].at_s <= at_s; i++)
        ;
    return (struct zone_span){ changes[i - 1].at_s, changes[i].at_s, changes[i - 1].offset_s,
                               i < 2 ? changes[i].offset_s : changes[i - 2].offset_s };
}

/* The files */

struct zone {
    char name[NAME_MAX_LEN + 1];
    int64_t first_s; /* the offset before the first change */
    size_t n;
    struct zone_rule rule; /* after the last change */
    struct change changes[];
};

static struct lock lock = LOCK_INITIALIZER;
static struct map zones GUARDED_BY(lock);

static int64_t number_at(const unsigned char *p, size_t bytes)
{
    uint64_t value = (p[0] & 0x80) != 0 ? UINT64_MAX : 0;

    for (size_t i = 0; i < bytes; i++)
        value = value << 8 | p[i];
    return (int64_t)value;
}

/* The parts of a TZif block by its head. */
struct block {
    size_t times, types, chars, leaps, is_std, is_utc;
};

static bool read_head(struct str file, size_t at, struct block *ret)
{
    const unsigned char *head = (const unsigned char *)file.data + at;
    size_t *const counts[] = { &ret->is_utc, &ret->is_std, &ret->leaps,
                               &ret->times,  &ret->types,  &ret->chars };

    if (at + HEAD_LEN > file.len || memcmp(head, "TZif", 4) != 0 || head[4] < '2')
        return false;
    for (size_t i = 0; i < COUNT_OF(counts); i++) {
        int64_t n = number_at(head + COUNTS_AT + 4 * i, 4);

        if (n < 0 || n > FILE_MAX)
            return false;
        *counts[i] = (size_t)n;
    }
    return ret->types > 0 && ret->times <= CHANGES_MAX;
}

static size_t block_len(const struct block *b, size_t time_len)
{
    return b->times * (time_len + 1) + b->types * TYPE_LEN + b->chars + b->leaps * (time_len + 4) +
           b->is_std + b->is_utc;
}

/* The line at the end: the rule for the years to come, maybe empty. */
static bool read_rule(struct str file, size_t at, struct zone *z)
{
    size_t end;

    if (at >= file.len || file.data[at] != '\n')
        return false;
    for (end = ++at; end < file.len && file.data[end] != '\n'; end++)
        ;
    if (end == at) { /* no rule: the last offset stays */
        z->rule = (struct zone_rule){ .standard_s =
                                          z->n == 0 ? z->first_s : z->changes[z->n - 1].offset_s };
        return true;
    }
    return parse_rule(str_from(file.data + at, end - at), &z->rule);
}

/* The second part of the file, which has times of eight bytes. */
static struct zone *read_zone(struct str file)
{
    struct block old, b;
    size_t at, body;
    const unsigned char *times, *kinds, *types;
    struct zone *z;

    if (!read_head(file, 0, &old))
        return NULL;
    at = HEAD_LEN + block_len(&old, 4);
    if (!read_head(file, at, &b))
        return NULL;
    body = at + HEAD_LEN;
    if (body + block_len(&b, 8) >= file.len)
        return NULL;
    times = (const unsigned char *)file.data + body;
    kinds = times + 8 * b.times;
    types = kinds + b.times;
    z = mem_new(sizeof(*z) + b.times * sizeof(*z->changes));
    z->n = b.times;
    z->first_s = number_at(types, 4);
    for (size_t i = 0; i < b.times; i++) {
        size_t kind = kinds[i];

        if (kind >= b.types) {
            free(z);
            return NULL;
        }
        z->changes[i] =
            (struct change){ number_at(times + 8 * i, 8), number_at(types + TYPE_LEN * kind, 4) };
    }
    if (!read_rule(file, body + block_len(&b, 8), z)) {
        free(z);
        return NULL;
    }
    return z;
}

static bool is_name(struct str name)
{
    if (name.len == 0 || name.len > NAME_MAX_LEN || name.data[0] < 'A' || name.data[0] > 'Z')
        return false; /* not posix/ and right/, which repeat all others */
    for (size_t i = 0; i < name.len; i++) {
        char c = name.data[i];
        bool is_word = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
                       c == '_' || c == '-' || c == '+';

        if (!is_word && (c != '/' || name.data[i - 1] == '/'))
            return false;
    }
    return name.data[name.len - 1] != '/';
}

static struct zone *load(struct str name)
{
    static const char folder[] = "/usr/share/zoneinfo/";
    char path[sizeof(folder) + NAME_MAX_LEN];
    struct zone *z = NULL;
    size_t n = 0;
    ssize_t got;
    char *file;
    int fd;

    memcpy(path, folder, sizeof(folder) - 1);
    memcpy(path + sizeof(folder) - 1, name.data, name.len);
    path[sizeof(folder) - 1 + name.len] = '\0';
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return NULL;
    file = mem_new(FILE_MAX);
    while (n < FILE_MAX && (got = read(fd, file + n, FILE_MAX - n)) > 0)
        n += (size_t)got;
    (void)close(fd);
    if (n < FILE_MAX)
        z = read_zone(str_from(file, n));
    free(file);
    return z;
}

static struct zone *load_or_utc(struct str name)
{
    struct zone *z = load(name);

    if (z == NULL && str_eq_c(name, "UTC"))
        z = NEW(struct zone);
    if (z == NULL)
        return NULL;
    memcpy(z->name, name.data, name.len);
    return z;
}

/* The zone that is kept under this name: one that another thread loaded meanwhile, or `loaded`. */
static struct zone *keep(struct str name, struct zone *loaded)
{
    struct zone *z;

    lock_acquire(&lock);
    z = map_get(&zones, name);
    if (z == NULL && loaded != NULL) {
        z = loaded;
        (void)map_put(&zones, str_from(z->name, name.len), z);
    }
    lock_release(&lock);
    return z;
}

const struct zone *zone_find(struct str name)
{
    struct zone *z, *loaded;

    if (!is_name(name))
        return NULL;
    z = keep(name, NULL);
    if (z != NULL)
        return z;
    loaded = load_or_utc(name); /* a file is not read under the lock */
    z = keep(name, loaded);
    if (z != loaded)
        free(loaded);
    return z;
}

static int64_t offset_before(const struct zone *z, size_t i)
{
    return i == 0 ? z->first_s : z->changes[i - 1].offset_s;
}

/* The span after the last listed change: the rule's, but not beginning before that change. */
static struct zone_span span_of_rule(const struct zone *z, int64_t at_s)
{
    struct zone_span span = rule_span(&z->rule, at_s);

    if (z->n > 0 && span.from_s <= z->changes[z->n - 1].at_s) {
        span.from_s = z->changes[z->n - 1].at_s;
        span.before_s = offset_before(z, z->n - 1);
    }
    return span;
}

struct zone_span zone_span_at(const struct zone *z, int64_t at_s)
{
    size_t low = 0, high = z->n; /* changes[low - 1] <= at_s < changes[high] */

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (z->changes[middle].at_s <= at_s)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == z->n)
        return span_of_rule(z, at_s);
    return (struct zone_span){ .from_s = low == 0 ? INT64_MIN : z->changes[low - 1].at_s,
                               .until_s = z->changes[low].at_s,
                               .offset_s = offset_before(z, low),
                               .before_s = offset_before(z, low == 0 ? 0 : low - 1) };
}
