/* client.h - one keep-alive HTTP/1.1 connection that sends a request and reads its answer.
 *
 * Never blocks but in client_connect(). It understands what muster and nginx
 * answer: a status line, Content-Length, a body; of the body only how many
 * events it says were accepted.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CLIENT_HEAD_MAX = 2048 };

struct client {
    int fd;
    char *out; /* the request; the caller owns and fills it */
    size_t out_len, out_sent;
    bool wants_write; /* the socket is full: call client_send() when it is writable */

    char head[CLIENT_HEAD_MAX]; /* of the answer, with the first bytes of its body */
    size_t head_len;
    size_t body_left;
    bool head_done;

    int status; /* of the last answer */
    uint64_t accepted;
    const char *look; /* the body's first bytes, until the next answer */
    size_t look_len;
    bool closing; /* the server will close after this answer */
};

enum client_state { CLIENT_WAITING, CLIENT_ANSWERED, CLIENT_BROKEN };

/* To 127.0.0.1; returns -1 with errno. Keeps `out`. */
int client_connect(struct client *c, unsigned port);

void client_close(struct client *c);

/* Sends `out` from where it stopped. */
enum client_state client_send(struct client *c);

/* Reads what there is. After CLIENT_ANSWERED the next request may be sent. */
enum client_state client_receive(struct client *c);
