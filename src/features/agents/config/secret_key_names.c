/* secret_key_names.c - recognizes secret parameters by their key. */
#include "features/agents/config/secret_key_names.h"

static const struct str secret_words[] = {
    STR_INIT("password"), STR_INIT("secret"),     STR_INIT("token"),
    STR_INIT("apikey"),   STR_INIT("credential"),
};

/* The letter or digit in lower case; 0 for a separator. */
static char normalize(char c)
{
    if (c >= 'A' && c <= 'Z')
        return (char)(c | 0x20);
    if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || (unsigned char)c >= 0x80)
        return c;
    return 0;
}

/* Does `word` begin at `at`, ignoring separators? */
static bool has_word_at(struct str key, size_t at, struct str word)
{
    size_t n = 0;

    for (; at < key.len && n < word.len; at++) {
        char c = normalize(key.data[at]);

        if (c == 0)
            continue;
        if (c != word.data[n++])
            return false;
    }
    return n == word.len;
}

static bool is_secret(struct str key)
{
    for (size_t at = 0; at < key.len; at++)
        for (size_t i = 0; i < COUNT_OF(secret_words); i++)
            if (normalize(key.data[at]) != 0 && has_word_at(key, at, secret_words[i]))
                return true;
    return false;
}

struct catalog_parameter secret_key_names_first_entry(struct str key)
{
    bool secret = is_secret(key);

    return (struct catalog_parameter){
        .key = key,
        .secret = secret,
        .edit = STR_LIT("admin"),
        .see = secret ? STR_LIT("nobody") : STR_LIT("member"),
    };
}
