/* test_vault.c - what is sealed opens in its own context and in no other. */
#include "features/vault/vault.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "base/arena.h"
#include "base/digest.h"
#include "features/vault/data_keys.h"
#include "features/vault/keyring.h"
#include "unit/temp_db.h"

static const char master_line[] = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\n"; /* 0 to 31 */

static const char *key_path(void)
{
    static char path[TEMP_DB_URL_MAX];

    (void)snprintf(path, sizeof(path), "%s/master.key", temp_db_directory);
    return path;
}

static void write_keys(const char *text, mode_t mode)
{
    int fd;

    (void)unlink(key_path());
    fd = open(key_path(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (fd < 0) {
        fail_msg("cannot write %s", key_path());
        return;
    }
    CHECK(write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    CHECK(fchmod(fd, mode) == 0);
    (void)close(fd);
}

/* A vault over a database of its own. */
struct bank {
    struct db *db;
    struct vault *vault;
    struct arena arena;
};

static void must(int r, const struct error *err)
{
    if (r != 0)
        fail_msg("%s", err->text);
}

static void bank_init(struct bank *b)
{
    struct error err = { 0 };

    digest_init();
    b->db = temp_db_open(temp_db_migrated(), DB_WRITER);
    arena_init(&b->arena);
    (void)unlink(key_path());
    b->vault = vault_new(key_path());
    must(vault_start(b->vault, b->db, NULL, &err), &err);
}

static void bank_done(struct bank *b)
{
    vault_free(b->vault);
    db_close(b->db);
    arena_done(&b->arena);
}

static struct str seal(struct bank *b, const struct vault_label *label, struct str text)
{
    struct error err = { 0 };
    struct str copy;
    struct buf out;

    buf_init(&out, MIB(1));
    must(vault_seal(b->vault, b->db, label, text, &out, &err), &err);
    copy = arena_copy(&b->arena, buf_str(&out));
    buf_done(&out);
    return copy;
}

/* Does it open, and as this text? */
static bool opens(struct bank *b, const struct vault_label *label, struct str sealed,
                  struct str text)
{
    struct error err = { 0 };
    struct buf out;
    bool good;

    buf_init(&out, MIB(1));
    good = vault_open(b->vault, b->db, label, sealed, &out, &err) == 0;
    if (good)
        CHECK(str_eq(buf_str(&out), text));
    else
        CHECK_INT(err.code, ERR_SCHEMA);
    vault_wipe(&out);
    return good;
}

static struct vault_label label_of(int64_t tenant_id, const char *name, int64_t version)
{
    return (struct vault_label){ "secret", tenant_id, str_of(name), version };
}

TEST(texts_of_any_length_come_back)
{
    static const size_t lengths[] = { 0, 1, 15, 16, 17, 63, 64, 65, 1000, 65536 };
    struct bank b;

    bank_init(&b);
    for (size_t i = 0; i < COUNT_OF(lengths); i++) {
        struct vault_label label = label_of(7, "name", (int64_t)i + 1);
        struct str text = str_from(arena_zalloc(&b.arena, lengths[i] + 1), lengths[i]);
        struct str sealed = seal(&b, &label, text);

        CHECK_INT(sealed.len, lengths[i] + VAULT_OVERHEAD);
        CHECK(opens(&b, &label, sealed, text));
        CHECK(!str_eq(sealed, seal(&b, &label, text))); /* never the same nonce */
    }
    bank_done(&b);
}

/* Every pair of a text sealed under one label and opened under another. */
TEST(what_was_moved_to_another_tenant_name_version_or_kind_does_not_open)
{
    enum { N = 36 };
    struct vault_label labels[N];
    struct str sealed[N], texts[N];
    struct bank b;
    int refused = 0;

    bank_init(&b);
    for (int i = 0; i < N; i++) {
        static const char *const names[] = { "a", "b", "ab" };

        labels[i] = label_of(1 + i % 3, names[i / 3 % 3], 1 + i / 9 % 2);
        labels[i].kind = i / 18 == 0 ? "secret" : "webhook";
        texts[i] = arena_printf(&b.arena, "text %d", i);
        sealed[i] = seal(&b, &labels[i], texts[i]);
    }
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            if (i == j)
                CHECK(opens(&b, &labels[i], sealed[j], texts[j]));
            else
                refused += !opens(&b, &labels[i], sealed[j], texts[j]);
    CHECK_INT(refused, N * (N - 1)); /* 1,260 */
    bank_done(&b);
}

/* Parts that run into each other must not look alike: kind and name, tenant and version. */
TEST(labels_are_told_apart_by_their_parts)
{
    static const struct vault_label labels[] = {
        { "secret", 1, STR_INIT("s"), 2 },   { "secrets", 1, STR_INIT(""), 2 },
        { "secre", 1, STR_INIT("ts"), 2 },   { "secret", 2, STR_INIT("s"), 1 },
        { "secret", 1, STR_INIT("s\0"), 2 }, { "data-key", 1, STR_INIT(""), 1 },
    };

    for (size_t i = 0; i < COUNT_OF(labels); i++)
        for (size_t j = 0; j < i; j++) {
            struct buf a, b;

            CHECK(!str_eq(envelope_label(&labels[i], 1, &a), envelope_label(&labels[j], 1, &b)));
            buf_done(&a);
            buf_done(&b);
        }
}

static struct str flipped(struct arena *arena, struct str bytes, size_t bit)
{
    char *copy = arena_alloc(arena, bytes.len);

    memcpy(copy, bytes.data, bytes.len);
    copy[bit / 8] = (char)(copy[bit / 8] ^ 1 << bit % 8);
    return str_from(copy, bytes.len);
}

static bool every_flip_is_refused(struct bank *b, const struct vault_label *label,
                                  struct str sealed, struct str text, int *flips)
{
    for (size_t bit = 0; bit < sealed.len * 8; bit++, ++*flips) {
        if (opens(b, label, flipped(&b->arena, sealed, bit), text))
            return false;
    }
    return true;
}

TEST(what_was_changed_in_any_bit_or_cut_does_not_open)
{
    struct vault_label label = label_of(3, "name", 1);
    struct str text = STR_LIT("a secret of forty characters, more or less"), sealed;
    struct bank b;
    int flips = 0;

    bank_init(&b);
    sealed = seal(&b, &label, text);
    CHECK(every_flip_is_refused(&b, &label, sealed, text, &flips));
    CHECK_INT(flips, 8 * (42 + VAULT_OVERHEAD));
    for (size_t len = 0; len < sealed.len; len++)
        CHECK(!opens(&b, &label, str_from(sealed.data, len), text));
    CHECK(opens(&b, &label, sealed, text));
    bank_done(&b);
}

static void set_wrapped(struct bank *b, int64_t tenant_id, struct str wrapped)
{
    const struct data_key_row row = { tenant_id, 1, wrapped };
    struct error err = { 0 };

    must(data_key_set(b->db, &row, &err), &err);
}

TEST(a_data_key_that_was_changed_or_moved_does_not_open)
{
    struct vault_label one = label_of(1, "n", 1), two = label_of(2, "n", 1);
    struct data_key_row first, second;
    struct str text = STR_LIT("x"), sealed;
    struct error err = { 0 };
    struct bank b;
    int refused = 0;

    bank_init(&b);
    sealed = seal(&b, &one, text);
    (void)seal(&b, &two, text);
    must(data_key_get(b.db, 1, 0, &b.arena, &first, &err), &err);
    must(data_key_get(b.db, 2, 0, &b.arena, &second, &err), &err);
    for (size_t bit = 0; bit < first.wrapped.len * 8; bit++) {
        set_wrapped(&b, 1, flipped(&b.arena, first.wrapped, bit));
        refused += !opens(&b, &one, sealed, text);
    }
    CHECK_INT(refused, 8 * (24 + 32 + 16));
    set_wrapped(&b, 1, second.wrapped);
    CHECK(!opens(&b, &one, sealed, text));
    set_wrapped(&b, 1, first.wrapped);
    CHECK(opens(&b, &one, sealed, text));
    bank_done(&b);
}

static struct str from_hex(struct arena *arena, const char *hex)
{
    size_t n = strlen(hex) / 2;
    char *bytes = arena_alloc(arena, n + 1);

    for (size_t i = 0; i < n; i++)
        bytes[i] = (char)(str_hex_digit(hex[2 * i]) << 4 | str_hex_digit(hex[2 * i + 1]));
    return str_from(bytes, n);
}

/* draft-irtf-cfrg-xchacha-03, A.3.1. */
TEST(the_cipher_is_xchacha20_poly1305)
{
    static const char text[] = "Ladies and Gentlemen of the class of '99: If I could offer you "
                               "only one tip for the future, sunscreen would be it.";
    struct str key, bound, bytes;
    struct arena arena;
    uint8_t plain[128];

    digest_init();
    arena_init(&arena);
    key = from_hex(&arena, "808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9f");
    bound = from_hex(&arena, "50515253c0c1c2c3c4c5c6c7");
    bytes = from_hex(&arena, "404142434445464748494a4b4c4d4e4f5051525354555657"
                             "bd6d179d3e83d43b9576579493c0e939572a1700252bfaccbed2902c21396cbb"
                             "731c7f1b0b4aa6440bf3a82f4eda7e39ae64c6708c54c216cb96b72e1213b452"
                             "2f8c9ba40db5d945b11b69b982c1bb9e3f3fac2bc369488f76b2383565d3fff9"
                             "21f9664c97637da9768812f615c68b13b52e"
                             "c0875924c1c7987947deafd8780acf49");
    CHECK(envelope_open((const uint8_t *)key.data, bound, bytes, plain));
    CHECK_STR(str_from((const char *)plain, bytes.len - ENVELOPE_OVERHEAD), text);
    arena_done(&arena);
}

/* Bytes that an earlier version wrote: whatever changes, they must go on to open. */
TEST(what_was_sealed_long_ago_still_opens)
{
    static const char wrapped[] =
        "e9d1a6a477c81b403bedd8480e65aab77404493cf9dd06fea35b09e143b1a0a1e15846cd88c1d23c"
        "8f6f803af34270f6216c2a5fe1295f0e9bcffc24059a38dc4e5ed304ac0c3e46";
    static const char sealed[] =
        "01010000001bfab8c96fe672a9b0968bfeefe958e091bf3e50da6f571a35fb183c2bdc08c044e31c"
        "608e22b0a68a7f7cff7cc4fe7e05f2a8bc4a";
    struct vault_label label = label_of(42, "DB_PASSWORD", 3);
    struct data_key_row row = { .tenant_id = 42, .version = 1 };
    struct error err = { 0 };
    struct bank b;

    bank_init(&b);
    vault_free(b.vault);
    write_keys(master_line, 0600);
    b.vault = vault_new(key_path());
    row.wrapped = from_hex(&b.arena, wrapped);
    must(data_key_add(b.db, &row, 1, &err), &err);
    CHECK(opens(&b, &label, from_hex(&b.arena, sealed), STR_LIT("correct horse")));
    bank_done(&b);
}

/* The sentence with which a start is refused; empty when it is not. */
static const char *start_again(struct bank *b)
{
    static struct error err;

    err = (struct error){ 0 };
    vault_free(b->vault);
    b->vault = vault_new(key_path());
    return vault_start(b->vault, b->db, NULL, &err) == 0 ? "" : err.text;
}

static size_t file_lines(void)
{
    struct stat status;

    CHECK(stat(key_path(), &status) == 0);
    return (size_t)status.st_size / 45;
}

/* The steps of a rotation, with a new process after each. */
TEST(a_rotation_cut_short_at_any_step_leaves_everything_readable)
{
    struct vault_label label = label_of(5, "n", 1);
    struct str text = STR_LIT("kept"), sealed;
    struct error err = { 0 };
    struct bank b;

    for (int steps = 0; steps < 4; steps++) {
        size_t n = 0;

        bank_init(&b);
        sealed = seal(&b, &label, text);
        must(db_begin(b.db, &err), &err);
        if (steps > 0)
            must(vault_rotate(b.vault, b.db, &b, &n, &err), &err);
        if (steps > 1)
            must(db_commit(b.db, &err), &err);
        else
            db_rollback(b.db);
        if (steps > 2)
            must(vault_end_rotation(b.vault, &b, true, &err), &err);
        CHECK_INT(n, steps > 0 ? 2 : 0); /* the platform's and the tenant's */
        CHECK_INT(file_lines(), steps == 1 || steps == 2 ? 2 : 1);
        CHECK(opens(&b, &label, sealed, text));
        CHECK_STR(str_of(start_again(&b)), ""); /* finishes it */
        CHECK_INT(file_lines(), 1);
        CHECK(opens(&b, &label, sealed, text));
        bank_done(&b);
    }
}

TEST(of_two_rotations_at_once_one_is_refused)
{
    struct error err = { 0 };
    struct bank b;
    size_t n;
    int one, two;

    bank_init(&b);
    must(vault_rotate(b.vault, b.db, &one, &n, &err), &err);
    must(vault_rotate(b.vault, b.db, &one, &n, &err), &err); /* tried again */
    CHECK_INT(file_lines(), 2);
    CHECK_INT(vault_rotate(b.vault, b.db, &two, &n, &err), -1);
    CHECK_INT(err.code, ERR_CONFLICT);
    must(vault_end_rotation(b.vault, &two, true, &err), &err); /* not its own: nothing happens */
    CHECK_INT(file_lines(), 2);
    must(vault_end_rotation(b.vault, &one, true, &err), &err);
    CHECK_INT(file_lines(), 1);
    must(vault_rotate(b.vault, b.db, &two, &n, &err), &err);
    must(vault_end_rotation(b.vault, &two, true, &err), &err);
    bank_done(&b);
}

TEST(a_digest_depends_on_the_installation_and_outlives_a_rotation)
{
    struct sha256 before, after, other;
    struct error err = { 0 };
    struct bank b, c;
    size_t n;

    bank_init(&b);
    must(vault_digest(b.vault, b.db, STR_LIT("x"), &before, &err), &err);
    must(vault_rotate(b.vault, b.db, &b, &n, &err), &err);
    must(vault_end_rotation(b.vault, &b, true, &err), &err);
    must(vault_digest(b.vault, b.db, STR_LIT("x"), &after, &err), &err);
    CHECK(digest_equal(&before, &after));
    bank_init(&c);
    must(vault_digest(c.vault, c.db, STR_LIT("x"), &other, &err), &err);
    CHECK(!digest_equal(&before, &other));
    bank_done(&c);
    bank_done(&b);
}
