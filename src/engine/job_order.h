/* job_order.h - the order in which the jobs of a group are applied where several processes write.
 *
 * Jobs lock rows of their tenant, then of their agent, until the commit. In one
 * order everywhere, two groups wait for each other but never in a circle.
 */
#pragma once

struct job_list;

/* By tenant, then by agent; jobs of one agent stay in the order in which they came. */
void job_list_sort(struct job_list *list);
