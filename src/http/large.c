/* large.c - threads that handle requests with large bodies.
 *
 * Inflating and checking a large body takes milliseconds, and small requests on the same loop would
 * wait for it: a few KiB of gzip may be MiB. So a loop receives the body, and one of these threads
 * calls the application with the complete request. Its reply comes back as from any other thread.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/thread.h"
#include "http/internal.h"

enum { LARGE = 32 * 1024 }; /* bytes of body: some 0.1 ms of work */

bool http_large_take(struct http_large *large, struct http_call *call)
{
    if (large == NULL || (!call->body.gzip && call->x.request.body.len <= LARGE))
        return false;
    call->next = NULL;
    lock_acquire(&large->lock);
    *large->last = call;
    large->last = &call->next;
    cond_signal(&large->changed);
    lock_release(&large->lock);
    return true;
}

/* Waits for the next request; NULL: the server ends. */
static struct http_call *next_call(struct http_large *large)
{
    struct http_call *call = NULL;

    lock_acquire(&large->lock);
    while (large->first == NULL && !large->ends)
        cond_wait(&large->changed, &large->lock);
    if (!large->ends) {
        call = large->first;
        large->first = call->next;
        if (large->first == NULL)
            large->last = &large->first;
    }
    lock_release(&large->lock);
    return call;
}

static void *run(void *ctx)
{
    struct http_large *large = ctx;
    struct http_call *call;

    thread_begin("muster-large", THREAD_STEADY);
    while ((call = next_call(large)) != NULL)
        http_call_handle(large->app, call);
    return NULL;
}

int http_large_start(struct http_large *large, const struct http_app *app, unsigned n_threads,
                     struct error *err)
{
    *large = (struct http_large){ .app = app };
    lock_init(&large->lock);
    cond_init(&large->changed);
    large->last = &large->first;
    large->threads = mem_new(n_threads * sizeof(*large->threads));
    for (; large->n_threads < n_threads; large->n_threads++) {
        int r = pthread_create(&large->threads[large->n_threads], NULL, run, large);

        if (r != 0)
            return err_set(err, ERR_INTERNAL, "cannot start a thread: %s", strerror(r));
    }
    return 0;
}

void http_large_stop(struct http_large *large)
{
    struct http_call *call;

    if (large->threads == NULL) /* it was not started */
        return;
    lock_acquire(&large->lock);
    large->ends = true;
    cond_broadcast(&large->changed);
    lock_release(&large->lock);
    for (unsigned i = 0; i < large->n_threads; i++)
        (void)pthread_join(large->threads[i], NULL);
    lock_unshared(&large->lock);
    while ((call = large->first) != NULL) {
        large->first = call->next;
        http_loop_destroy_call(call);
    }
    cond_done(&large->changed);
    lock_done(&large->lock);
    free(large->threads);
    large->threads = NULL;
}
