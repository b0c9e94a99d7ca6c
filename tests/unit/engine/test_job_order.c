/* test_job_order.c - jobs of a group in one order, and those of one agent as they came. */

#include "engine/job_queue.h"
#include "engine/writer.h"
#include "test.h"

TEST(jobs_are_sorted_by_tenant_and_agent_and_those_of_one_agent_stay_as_they_came)
{
    static const struct {
        int64_t tenant_id;
        const char *agent;
        int place;
    } rows[] = {
        { 3, "b", 6 }, { 1, "b", 2 }, { 3, "a", 5 }, { 1, "b", 3 },
        { 0, "", 0 },  { 3, "b", 7 }, { 1, "a", 1 }, { 2, "", 4 },
    };
    struct writer_job jobs[COUNT_OF(rows)] = { 0 };
    const struct writer_job *job;
    struct job_list list;
    size_t n = 0;

    job_list_init(&list);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        jobs[i].tenant_id = rows[i].tenant_id;
        jobs[i].agent_name = str_of(rows[i].agent);
        jobs[i].events = 1;
        job_list_add(&list, &jobs[i]);
    }
    job_list_sort(&list);
    CHECK_INT(list.events, COUNT_OF(rows));
    for (job = list.first; job != NULL; job = job->next)
        CHECK_INT(rows[job - jobs].place, n++);
    CHECK_INT(n, COUNT_OF(rows));
    while (list.first != NULL)
        (void)job_list_take(&list);
    CHECK(list.last == &list.first);
}

TEST(a_sorted_list_can_be_added_to)
{
    struct writer_job jobs[] = { { .tenant_id = 2 }, { .tenant_id = 1 }, { .tenant_id = 3 } };
    struct job_list list;

    job_list_init(&list);
    job_list_sort(&list);
    CHECK(list.first == NULL);
    job_list_add(&list, &jobs[0]);
    job_list_add(&list, &jobs[1]);
    job_list_sort(&list);
    job_list_add(&list, &jobs[2]);
    CHECK(list.first == &jobs[1] && jobs[1].next == &jobs[0] && jobs[0].next == &jobs[2]);
}
