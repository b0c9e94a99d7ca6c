/* passwords.c - the rules for new passwords. No rule requires capitals, digits or symbols: such
 * rules make passwords worse. */
#include "features/users/shapes.h"

enum { AROUND_MAX = 12, AROUND_EMAIL_MAX = 6 };

/* clang-format off */
/* Refused also with a few digits and symbols around them. */
static const char *const words[] = {
    "password", "passwords", "mypassword", "newpassword", "passwort", "passphrase", "passcode", "pass", "passw",
    "welcome", "letmein", "login", "logmein", "access", "secret", "topsecret", "supersecret", "private",
    "default", "changeme", "changeit", "changethis", "temp", "temporary", "initial", "test", "tester", "testing",
    "demo", "admin", "admins", "administrator", "superadmin", "sysadmin", "root", "toor", "master", "manager",
    "operator", "user", "username", "guest", "owner", "support", "service", "server", "system", "network",
    "database", "postgres", "oracle", "cisco", "muster", "agent", "agents", "telemetry", "dashboard",
    "monitoring", "platform", "tenant", "qwerty", "qwertz", "azerty", "qwertyui", "qwertyuiop", "asdf", "asdfgh",
    "asdfghjkl", "zxcvbn", "zxcvbnm", "qazwsx", "qazwsxedc", "abc", "abcd", "abcdef", "abcdefg", "abcdefgh",
    "iloveyou", "ilovegod", "loveyou", "lovely", "forever", "sunshine", "princess", "princesa", "football",
    "baseball", "basketball", "soccer", "hockey", "superman", "batman", "spiderman", "starwars", "pokemon",
    "naruto", "minecraft", "monkey", "dragon", "shadow", "hunter", "killer", "ninja", "mustang", "harley",
    "ferrari", "porsche", "corvette", "mercedes", "michael", "jordan", "jennifer", "jessica", "ashley", "daniel",
    "charlie", "andrew", "thomas", "robert", "matthew", "joshua", "anthony", "nicole", "michelle", "alexander",
    "christopher", "elizabeth", "victoria", "liverpool", "chelsea", "arsenal", "barcelona", "juventus",
    "manchester", "computer", "internet", "windows", "samsung", "google", "facebook", "microsoft", "apple",
    "amazon", "linkedin", "hello", "helloworld", "whatever", "trustno", "freedom", "flower", "summer", "winter",
    "spring", "autumn", "january", "february", "march", "april", "june", "july", "august", "september", "october",
    "november", "december", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday",
    "chocolate", "cookie", "banana", "orange", "purple", "butterfly", "company", "office", "business", "london",
    "newyork", "america", "england", "france", "germany", "espana", "motdepasse", "contrasena", "wachtwoord",
    "welkom", "senha", "haslo", "parola", "geheim", "hallo", "bonjour", "hola", "jesus", "jesuschrist", "god",
    "angel", "family", "mother", "father", "baby", "love", "p@ssw0rd", "passw0rd", "p@ssword", "pa55word",
    "l3tm31n", "w3lcome", "adm1n", "qweasdzxc", "changemenow", "letmeinnow", "openthedoor", "opensesame",
    "ilovemyself", "ilovemywife", "ilovejesus", "godisgood", "godisgreat", "nopassword", "nothing", "whocares",
    "idontknow", "liverpoolfc", "manutd", "realmadrid", "steelers", "cowboys", "yankees", "lakers",
    "counterstrike", "callofduty", "finalfantasy", "harrypotter", "ledzeppelin", "metallica", "hellokitty",
    "strawberry", "tinkerbell", "myspace", "instagram", "blackberry", "playstation", "motherfucker", "fuckyou",
    "bullshit", "asshole", "goodmorning", "goodnight", "thankyou", "happybirthday", "happynewyear", "bestfriends",
    "bestfriend", "boyfriend", "girlfriend", "qwertyqwerty", "azertyuiop", "teamomucho", "schatz", "minhasenha",
    "1qazxsw23edc", "zaq12wsxcde3", "zaq1xsw2cde3", "qwe123asd456", "qwerty123456789", "123456789qwerty",
    "123qweasdqwe", "a1b2c3d4e5f6", "a1b2c3d4e5f6g7", "a1s2d3f4g5h6", "abcd1234abcd", "abc123456789",
    "123456789abc", "aaaabbbbcccc", "111222333444", "112233445566", "11223344556677", "1122334455667788",
    "135792468135", "147258369147", "147258369000", "741852963741", "789456123789", "789456123000",
    "987654321000", "100200300400", "102030405060", "123456654321", "314159265358", "314159265359",
    "3141592653589", "31415926535897", "271828182845", "112358132134", "password1password", "passwordpass",
    "thispassword", "thisismypassword", "thisisapassword", "thisispassword", "changemeplease",
    "changethispassword", "pleasechangeme", "temppassword", "temporarypassword", "defaultpassword",
    "secretpassword", "supersecretpassword", "strongpassword", "verystrongpassword", "securepassword",
    "testpassword", "userpassword", "adminpassword", "administrateur", "administrador", "rootpassword",
    "letmeinplease", "welcometothejungle", "iloveyousomuch", "iloveyouforever", "iloveyoubaby", "iloveyou4ever",
    "iloveyou2much", "ilovemyfamily", "ilovechocolate", "jesuslovesme", "blessedbethename", "iforgotmypassword",
    "forgotpassword", "correcthorsebatterystaple", "correct horse battery staple", "correct-horse-battery-staple",
    "tobeornottobe", "maytheforcebewithyou", "manchesterunited", "leagueoflegends", "worldofwarcraft",
    "lordoftherings", "gameofthrones", "rollingstones", "cheeseburger", "peanutbutter", "snickerdoodle",
    "samsunggalaxy", "hello123456789", "merrychristmas", "familyforever", "qwerty1qwerty", "jetaimeforever",
    "micontrasena", "tequieromucho", "meinpasswort", "ichliebedich", NULL,
};

/* Rows of keys and of characters. */
static const char *const rows[] = {
    "12345678901234567890", "09876543210987654321", "1234567890-=", "`1234567890-=", "=-0987654321`",
    "qwertyuiop[]asdfghjkl;'zxcvbnm,./", "qwertyuiopasdfghjklzxcvbnm", "1234567890qwertyuiopasdfghjklzxcvbnm",
    "mnbvcxzlkjhgfdsapoiuytrewq", "qwertzuiopasdfghjklyxcvbnm", "azertyuiopqsdfghjklmwxcvbn", "!@#$%^&*()_+",
    "qwertyuiop1234567890", "abcdefghijklmnopqrstuvwxyz1234567890",
    "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz",
    "zyxwvutsrqponmlkjihgfedcbazyxwvutsrqponmlkjihgfedcba", "1qaz2wsx3edc4rfv5tgb6yhn7ujm8ik,9ol.0p;/",
    "qazwsxedcrfvtgbyhnujmikolp", "1q2w3e4r5t6y7u8i9o0p[-]=", "q1w2e3r4t5y6u7i8o9p0", NULL,
};
/* clang-format on */

/* A few characters, or many, repeated. */
static bool is_repetition(struct str s)
{
    for (size_t unit = 1; unit <= s.len / 2; unit++)
        if (memcmp(s.data, s.data + unit, s.len - unit) == 0)
            return true;
    return false;
}

static bool is_in_row(struct str s)
{
    for (size_t i = 0; rows[i] != NULL; i++)
        if (memmem(rows[i], strlen(rows[i]), s.data, s.len) != NULL)
            return true;
    return false;
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (unsigned char)c >= 0x80;
}

static bool is_decorated_word(struct str s)
{
    size_t first = 0, end = s.len;

    while (first < end && !is_letter(s.data[first]) && first < AROUND_MAX)
        first++;
    while (end > first && !is_letter(s.data[end - 1]) && s.len - end < AROUND_MAX)
        end--;
    return str_is_one_of(str_from(s.data + first, end - first), words);
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
    for (size_t i = 0; i < password.len; i++) {
        const char c = password.data[i];

        small[i] = (char)(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
    }
    if (is_of_email(s, email))
        return "A password should not be the e-mail address";
    if (is_repetition(s) || is_in_row(s) || str_is_one_of(s, words) || is_decorated_word(s))
        return "This password is easy to guess; choose another";
    return NULL;
}
