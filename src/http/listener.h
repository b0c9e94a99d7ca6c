/* listener.h - sockets that connections come from. */
#pragma once
#include "http/loop.h"

/* A bound socket, not yet listening. With SO_REUSEPORT, so that each loop can have its own; that
 * nobody else has the port is made sure of first. *port 0 is replaced by the one taken. */
int http_listener_bind_tcp(const char *host, unsigned *port, int *ret_fd,
                           struct error *err) MUST_CHECK;

/* One more on a port that http_listener_bind_tcp() gave. */
int http_listener_bind_again(const char *host, unsigned port, int *ret_fd,
                             struct error *err) MUST_CHECK;

/* A socket file for this user alone; a socket that is there already is replaced. */
int http_listener_bind_unix(const char *path, int *ret_fd, struct error *err) MUST_CHECK;

/* Takes `fd` and listens on it in this loop, which does not run yet. */
int http_listener_start(struct http_loop *loop, int fd, bool is_unix, struct error *err) MUST_CHECK;

/* Accepts what already waits, then closes the listeners. On the loop's thread. */
void http_listener_end(struct http_loop *loop);
