/* target.c - URLs as libcurl reads them, and the tables of addresses that are not public. */
#include "features/webhooks/target.h"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "base/err.h"

enum { URL_MAX = 2048 };

struct v4_range {
    uint32_t network;
    unsigned bits;
};

#define V4(a, b, c, d) ((uint32_t)(a) << 24 | (uint32_t)(b) << 16 | (uint32_t)(c) << 8 | (d))

/* IANA's registry of special-purpose addresses. */
static const struct v4_range not_public_v4[] = {
    { V4(0, 0, 0, 0), 8 },       /* this network */
    { V4(10, 0, 0, 0), 8 },      /* private */
    { V4(100, 64, 0, 0), 10 },   /* carrier-grade NAT */
    { V4(127, 0, 0, 0), 8 },     /* loopback */
    { V4(169, 254, 0, 0), 16 },  /* link-local; cloud metadata services */
    { V4(172, 16, 0, 0), 12 },   /* private */
    { V4(192, 0, 0, 0), 24 },    /* protocol assignments */
    { V4(192, 0, 2, 0), 24 },    /* documentation */
    { V4(192, 31, 196, 0), 24 }, /* AS112 */
    { V4(192, 52, 193, 0), 24 }, /* AMT */
    { V4(192, 88, 99, 0), 24 },  /* 6to4 relays */
    { V4(192, 168, 0, 0), 16 },  /* private */
    { V4(192, 175, 48, 0), 24 }, /* AS112 */
    { V4(198, 18, 0, 0), 15 },   /* benchmarks */
    { V4(198, 51, 100, 0), 24 }, /* documentation */
    { V4(203, 0, 113, 0), 24 },  /* documentation */
    { V4(224, 0, 0, 0), 4 },     /* multicast */
    { V4(240, 0, 0, 0), 4 },     /* reserved, and broadcast */
};

struct v6_range {
    uint8_t network[4]; /* enough for all prefixes below */
    unsigned bits;
};

/* Exceptions within 2000::/3, the only range allocated for public use. */
static const struct v6_range not_public_v6[] = {
    { { 0x20, 0x01, 0x00, 0x00 }, 23 }, /* protocols: Teredo, benchmarks, ORCHID */
    { { 0x20, 0x01, 0x0d, 0xb8 }, 32 }, /* documentation */
    { { 0x20, 0x02, 0x00, 0x00 }, 16 }, /* 6to4: embeds an IPv4 address */
    { { 0x3f, 0xff, 0x00, 0x00 }, 20 }, /* documentation */
};

static bool is_public_v4(uint32_t address)
{
    for (size_t i = 0; i < COUNT_OF(not_public_v4); i++) {
        const struct v4_range *range = &not_public_v4[i];

        if ((address ^ range->network) >> (32 - range->bits) == 0)
            return false;
    }
    return true;
}

static bool is_public_v6(const uint8_t *address)
{
    static const unsigned allocated = 0x20, allocated_mask = 0xe0;
    uint32_t first;

    if ((address[0] & allocated_mask) != allocated)
        return false;
    first = V4(address[0], address[1], address[2], address[3]);
    for (size_t i = 0; i < COUNT_OF(not_public_v6); i++) {
        const struct v6_range *range = &not_public_v6[i];
        uint32_t network =
            V4(range->network[0], range->network[1], range->network[2], range->network[3]);

        if ((first ^ network) >> (32 - range->bits) == 0)
            return false;
    }
    return true;
}

bool target_is_public(const struct sockaddr *address)
{
    struct sockaddr_in6 v6;
    struct sockaddr_in v4;

    switch (address->sa_family) {
    case AF_INET:
        memcpy(&v4, address, sizeof(v4));
        return is_public_v4(ntohl(v4.sin_addr.s_addr));
    case AF_INET6:
        memcpy(&v6, address, sizeof(v6));
        return is_public_v6(v6.sin6_addr.s6_addr);
    default:
        return false; /* a Unix socket or an unknown family */
    }
}

/* Names reserved for the local host or the local network. */
static bool is_local_name(struct str host)
{
    static const struct str endings[] = { STR_INIT("localhost"), STR_INIT("local"),
                                          STR_INIT("internal"),  STR_INIT("lan"),
                                          STR_INIT("home"),      STR_INIT("arpa") };

    if (host.len > 0 && host.data[host.len - 1] == '.')
        host.len--;
    if (memchr(host.data, '.', host.len) == NULL)
        return true; /* a name without a dot is local */
    for (size_t i = 0; i < COUNT_OF(endings); i++) {
        size_t n = endings[i].len;

        if (host.len > n && host.data[host.len - n - 1] == '.' &&
            str_eq_nocase(str_from(host.data + host.len - n, n), endings[i]))
            return true;
    }
    return false;
}

/* The host as libcurl parsed it: every notation of an IPv4 address has become dotted decimal. */
static const char *check_host(const char *host)
{
    struct sockaddr_in6 v6 = { .sin6_family = AF_INET6 };
    struct sockaddr_in v4 = { .sin_family = AF_INET };
    char bare[URL_MAX];
    size_t n = strlen(host);

    if (n >= 2 && n < sizeof(bare) && host[0] == '[') {
        memcpy(bare, host + 1, n - 2);
        bare[n - 2] = '\0';
        if (inet_pton(AF_INET6, bare, &v6.sin6_addr) != 1 ||
            !target_is_public((const struct sockaddr *)&v6))
            return "The address is not public";
        return NULL;
    }
    if (inet_pton(AF_INET, host, &v4.sin_addr) == 1)
        return target_is_public((const struct sockaddr *)&v4) ? NULL : "The address is not public";
    return is_local_name(str_of(host)) ? "The host name is not public" : NULL;
}

static const char *check_port(const char *port)
{
    static const char *const allowed[] = { "443", "8443", "80", "8080" };

    for (size_t i = 0; i < COUNT_OF(allowed); i++)
        if (strcmp(port, allowed[i]) == 0)
            return NULL;
    return "The port must be 443, 8443, 80 or 8080";
}

static const char *check_parts(CURLU *url, const struct target_rules *rules)
{
    char *scheme = NULL, *host = NULL, *port = NULL;
    const char *wrong = "This is not a URL with a host";

    if (curl_url_get(url, CURLUPART_SCHEME, &scheme, 0) != CURLUE_OK ||
        curl_url_get(url, CURLUPART_HOST, &host, 0) != CURLUE_OK ||
        curl_url_get(url, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT) != CURLUE_OK)
        goto out;
    if (strcmp(scheme, "https") != 0 && strcmp(scheme, "http") != 0)
        wrong = "The URL must begin with https://";
    else if (strcmp(scheme, "http") == 0 && !rules->allow_http)
        wrong = "The URL must begin with https://; http needs the setting webhook_allow_http";
    else if (rules->allow_private)
        wrong = NULL;
    else
        wrong = check_port(port);
    if (wrong == NULL && !rules->allow_private)
        wrong = check_host(host);
out:
    curl_free(scheme);
    curl_free(host);
    curl_free(port);
    return wrong;
}

/* NULL when it is not a URL. */
static CURLU *parse(struct str url)
{
    CURLU *parsed = curl_url();
    char text[URL_MAX + 1];

    if (parsed == NULL)
        err_die("out of memory");
    memcpy(text, url.data, url.len);
    text[url.len] = '\0';
    if (curl_url_set(parsed, CURLUPART_URL, text, CURLU_DISALLOW_USER) == CURLUE_OK)
        return parsed;
    curl_url_cleanup(parsed);
    return NULL;
}

const char *target_check_url(struct str url, const struct target_rules *rules)
{
    const char *wrong;
    CURLU *parsed;

    if (url.len == 0 || url.len > URL_MAX)
        return "The URL must have 1 to 2048 bytes";
    for (size_t i = 0; i < url.len; i++)
        if ((unsigned char)url.data[i] <= ' ' || (unsigned char)url.data[i] >= 0x7f)
            return "The URL must be plain ASCII without spaces";
    parsed = parse(url);
    if (parsed == NULL)
        return "This is not a URL, or it contains a user name";
    wrong = check_parts(parsed, rules);
    curl_url_cleanup(parsed);
    return wrong;
}
