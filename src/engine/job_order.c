/* job_order.c - a merge sort of a list, which keeps the order of equals. */
#include "engine/job_order.h"

#include "base/str.h"
#include "engine/turns.h"
#include "engine/writer.h"

static bool is_before(const struct writer_job *a, const struct writer_job *b)
{
    if (a->tenant_id != b->tenant_id)
        return a->tenant_id < b->tenant_id;
    return str_cmp(a->agent_name, b->agent_name) < 0;
}

static struct writer_job *merge(struct writer_job *a, struct writer_job *b)
{
    struct writer_job *first = NULL, **last = &first;

    while (a != NULL && b != NULL) {
        struct writer_job **next = is_before(b, a) ? &b : &a;

        *last = *next;
        last = &(*next)->next;
        *next = *last;
    }
    *last = a != NULL ? a : b;
    return first;
}

/* Cuts the list after its first half and returns the second. */
static struct writer_job *halve(struct writer_job *list)
{
    struct writer_job *slow = list, *fast = list->next, *rest;

    while (fast != NULL && fast->next != NULL) {
        slow = slow->next;
        fast = fast->next->next;
    }
    rest = slow->next;
    slow->next = NULL;
    return rest;
}

/* As deep as the logarithm of the number of jobs. */
static struct writer_job *sort(struct writer_job *list)
{
    struct writer_job *rest;

    if (list == NULL || list->next == NULL)
        return list;
    rest = halve(list);
    list = sort(list);
    return merge(list, sort(rest));
}

void job_list_sort(struct job_list *list)
{
    list->first = sort(list->first);
    list->last = &list->first;
    while (*list->last != NULL)
        list->last = &(*list->last)->next;
}
