/* password_rules.c - the rules for new passwords. */
#include "features/users/password_rules.h"

#include <assert.h>

#include "features/users/shapes.h"

enum { UNIT_MAX = 4, AROUND_MAX = 8, AROUND_EMAIL_MAX = 6 };

static char lower(char c)
{
    return (char)(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
}

/* One character, or a few, repeated. */
static bool is_repetition(struct str s)
{
    for (size_t unit = 1; unit <= UNIT_MAX; unit++) {
        size_t i = unit;

        while (i < s.len && s.data[i] == s.data[i - unit])
            i++;
        if (i == s.len)
            return true;
    }
    return false;
}

/* Each character is the next, or each the one before, as in 123456 or fedcba; 0 comes after 9. */
static bool is_run(struct str s, int step)
{
    for (size_t i = 1; i < s.len; i++) {
        char from = s.data[i - 1];
        bool round = step > 0 ? from == '9' && s.data[i] == '0' : from == '0' && s.data[i] == '9';

        if (s.data[i] != from + step && !round)
            return false;
    }
    return true;
}

static bool is_in_row(struct str s)
{
    for (size_t i = 0; password_rows[i] != NULL; i++)
        if (memmem(password_rows[i], strlen(password_rows[i]), s.data, s.len) != NULL)
            return true;
    return false;
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (unsigned char)c >= 0x80;
}

/* The letter that a digit or symbol often replaces. */
static char plain(char c, char one)
{
    static const char signs[] = "0345789@$!", letters[] = "oeastbgasi";
    const char *at = c == '\0' ? NULL : strchr(signs, c);

    static_assert(sizeof(signs) == sizeof(letters), "a letter for each sign");
    if (c == '1')
        return one;
    if (at == NULL)
        return c;
    return letters[at - signs];
}

/* A common word, also with symbols instead of letters, and a few characters around it. */
static bool is_decorated_word(struct str s)
{
    static const char ones[] = { 'i', 'l' };
    char word[PASSWORD_MAX] = { 0 };
    size_t first = 0, end = s.len;

    assert(s.len <= sizeof(word));
    while (first < end && !is_letter(s.data[first]) && first < AROUND_MAX)
        first++;
    while (end > first && !is_letter(s.data[end - 1]) && s.len - end < AROUND_MAX)
        end--;
    for (size_t i = 0; i < COUNT_OF(ones); i++) {
        for (size_t at = first; at < end; at++)
            word[at - first] = plain(s.data[at], ones[i]);
        if (str_is_one_of(str_from(word, end - first), password_words))
            return true;
    }
    return false;
}

/* The address or its local part, with a few characters around it. */
static bool is_of_email(struct str s, struct str email)
{
    struct str rest = email, local = str_split(&rest, '@');

    if (str_is_null(email) || local.len == 0 || s.len < local.len)
        return false;
    if (str_eq(s, email))
        return true;
    return s.len - local.len <= AROUND_EMAIL_MAX &&
           memmem(s.data, s.len, local.data, local.len) != NULL;
}

const char *password_problem(struct str password, struct str email)
{
    char small[PASSWORD_MAX];
    struct str s = { small, password.len };

    if (password.len > PASSWORD_MAX)
        return "A password has at most 1024 bytes";
    if (utf8_count(password) < PASSWORD_LEAST)
        return "A password has at least 12 characters";
    for (size_t i = 0; i < password.len; i++)
        small[i] = lower(password.data[i]);
    if (is_of_email(s, email))
        return "A password should not be the e-mail address";
    if (is_repetition(s) || is_run(s, 1) || is_run(s, -1) || is_in_row(s) ||
        str_is_one_of(s, password_common) || is_decorated_word(s))
        return "This password is easy to guess; choose another";
    return NULL;
}
