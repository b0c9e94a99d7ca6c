/* tenants.h - the budgets of a few tenants, numbered from 1; 0 is the service itself. */
#pragma once
#include "base/budget.h"

enum { TENANT_BUDGETS = 4 };

static struct budgets tenant_budgets;

static inline struct budget *tenant_budget(int64_t number)
{
    static struct budget nodes[TENANT_BUDGETS];

    if (number == 0)
        return NULL;
    if (tenant_budgets.service.level == NULL)
        budgets_init(&tenant_budgets);
    if (nodes[number].level == NULL)
        budget_init(&nodes[number], &tenant_budgets.tenant_level, &tenant_budgets.service);
    return &nodes[number];
}
