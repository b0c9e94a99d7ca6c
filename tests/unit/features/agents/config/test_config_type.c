/* test_config_type.c - which texts are values of which type. */
#include "features/agents/config/config_type.h"

#include "test.h"

TEST(a_text_fits_the_types_it_can_be_read_as)
{
    static const struct {
        const char *type, *text;
        bool fits;
    } rows[] = {
        { "string", "anything { at all", true },
        { "unheard of", "anything { at all", true },
        { "", "anything", true },
        { "integer", "5", true },
        { "integer", "-5", true },
        { "integer", "5.0", true },
        { "integer", "1e3", true },
        { "integer", "9223372036854775807", true },
        { "integer", "-9223372036854775808", true },
        { "integer", "9223372036854775808", false },
        { "integer", "5.5", false },
        { "integer", "\"5\"", false },
        { "integer", "five", false },
        { "integer", "true", false },
        { "integer", "007", false },
        { "number", "5", true },
        { "number", "-5.5e-3", true },
        { "number", "9223372036854775808", true },
        { "number", "123456789012345678901234567890", true },
        { "number", "1e400", false },
        { "number", "NaN", false },
        { "number", "false", false },
        { "boolean", "true", true },
        { "boolean", "false", true },
        { "boolean", "True", false },
        { "boolean", "1", false },
        { "boolean", "yes", false },
        { "json", "{\"a\":[1,null]}", true },
        { "json", "null", true },
        { "json", "\"text\"", true },
        { "json", "text", false },
        { "json", "{", false },
        { "list", "[]", true },
        { "list", "[1,\"a\"]", true },
        { "list", "{}", false },
        { "list", "a,b", false },
        { "Integer", "five", true }, /* not the word, so a string */
    };
    struct arena arena;

    arena_init(&arena);
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (config_type_fits(str_of(rows[i].type), str_of(rows[i].text), &arena) != rows[i].fits)
            fail_msg("'%s' as %s", rows[i].text, rows[i].type);
    arena_done(&arena);
}

TEST(six_types_are_known)
{
    static const char *const known[] = { "string", "integer", "number", "boolean", "json", "list" };
    static const char *const unknown[] = { "", "String", "int", "object", "string ", "lis" };

    for (size_t i = 0; i < COUNT_OF(known); i++) {
        CHECK(config_type_is_known(str_of(known[i])));
        CHECK(!config_type_is_known(str_of(unknown[i])));
    }
}
