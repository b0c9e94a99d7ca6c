/* shapes.h - webhooks, their messages and deliveries, as set and shown.
 *
 * Thread-safe: tables are const.
 */
#pragma once
#include "shape/shape.h"

/* In the order in which the store numbers them. */
enum webhook_format {
    WEBHOOK_STANDARD,
    WEBHOOK_SLACK,
    WEBHOOK_EMAIL,
    WEBHOOK_TEAMS,
    WEBHOOK_DISCORD,
    WEBHOOK_PAGERDUTY,
    WEBHOOK_ALERTMANAGER
};
extern const char *const webhook_format_names[];

enum delivery_state { DELIVERY_WAITING, DELIVERY_DELIVERED, DELIVERY_DEAD };
extern const char *const delivery_state_names[];

/* NULL when a webhook of this format may have this URL; else a sentence. */
const char *webhook_check_form(int format, struct str url);

/* The routing key in a webhook's URL, "…?routing_key=<32 letters and digits>"; STR_NULL: none. */
struct str webhook_routing_key(struct str url);

/* The URL without its query. */
struct str webhook_url_plain(struct str url);

/* The message types of webhooks; ends in NULL. */
extern const char *const message_types[];

struct webhook_create {
    struct str url, label;
    int format;        /* enum webhook_format */
    struct list types; /* of struct str; empty: all */
};

/* Null or absent: unchanged. */
struct webhook_patch {
    struct str url, label; /* null */
    struct list types;     /* of struct str; items NULL: null */
    struct opt_bool enabled;
    bool rotate_secret;
};

struct webhook {
    struct str webhook_id, url, format, label;
    struct list types; /* of struct str */
    bool enabled;
    int64_t created_at;
    struct str secret;         /* null unless it was just created */
    struct str warning;        /* null: none; why nothing can be sent to it yet */
    int64_t waiting, dead;     /* deliveries */
    int64_t last_delivered_at; /* TIME_NULL */
};

struct webhook_path {
    struct str slug, webhook_id;
};

struct delivery_path {
    struct str slug, webhook_id, delivery_id;
};

struct deliveries_query {
    int64_t limit;
    struct str cursor; /* null */
    int state;         /* enum delivery_state; -1: any */
};

/* What a message says, of all that is in it. */
struct delivery_message {
    struct str summary;
};

struct delivery {
    struct delivery_message *message;
    struct str delivery_id, message_id, type, state;
    int64_t created_at, attempts;
    int64_t next_at, last_at; /* TIME_NULL */
    struct opt_int last_status, last_ms;
    struct str last_error; /* null */
};

/* The result of a test message. */
struct webhook_tested {
    bool delivered;
    struct opt_int status;
    int64_t ms;
    struct str error; /* null */
};

extern const struct shape webhook_create_shape, webhook_patch_shape, webhook_shape,
    webhook_list_shape, webhook_path_shape, delivery_path_shape, deliveries_query_shape,
    delivery_shape, delivery_list_shape, webhook_tested_shape;
