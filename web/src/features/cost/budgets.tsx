// The budgets of a workspace: what is spent of each, and what will be at the end of its period.

import type { BudgetRule } from "api";

import { call } from "../../lib/api";
import { useNow } from "../../lib/clock";
import { dollars, percent } from "../../lib/format";
import { costPerDay, daysLeft } from "../../lib/forecast";
import { useLiveQuery, useQuery } from "../../lib/query";
import { href, pathOf } from "../../lib/route";
import { Card, Chip } from "../../ui";

const RULES = "GET /api/v1/tenants/{slug}/rules";
const USAGE = "GET /api/v1/tenants/{slug}/llm/usage";
const SLOW_MS = 60_000;
const RANGES = { day: "today", month: "this_month" };

/** null: do not load. */
function useUsage(slug: string, time_range: string | null) {
    return useLiveQuery(
        slug,
        time_range === null ? null : `${USAGE} ${slug} ${time_range} day`,
        (signal) =>
            call(USAGE, {
                path: { slug },
                query: { time_range: time_range ?? "", group_by: "day" },
                signal,
            }),
        () => false,
        SLOW_MS,
    ).data;
}

interface Figures {
    spent: number;
    end: number; // forecast
}

function Budget({ budget, figures }: { budget: BudgetRule; figures: Figures }) {
    const amount = Number(budget.amount);
    const part = amount === 0 ? 1 : figures.spent / amount;
    const over = figures.spent > amount;
    const willBe = !over && figures.end > amount;
    return (
        <li class="budget">
            <p>
                <b>
                    {dollars(figures.spent)} of {dollars(amount)}
                </b>{" "}
                {budget.per === "day" ? "today" : "this month"} ({percent(part)}), forecast{" "}
                {dollars(figures.end)}{" "}
                {over && <Chip tone="bad">Exceeded</Chip>}
                {willBe && <Chip tone="warn">Will be exceeded</Chip>}
                {budget.paused && <Chip tone="quiet">Paused</Chip>}
            </p>
            <progress
                class={over ? "over" : ""}
                aria-label={`Budget per ${budget.per}`}
                max={1}
                value={Math.min(part, 1)}
            />
        </li>
    );
}

export function Budgets({ slug }: { slug: string }) {
    const now = useNow();
    const rules = useQuery(`${RULES} ${slug}`, (signal) =>
        call(RULES, { path: { slug }, signal }),
    );
    const budgets = rules.data?.budgets ?? [];
    const wanted = (per: BudgetRule["per"]) =>
        budgets.some((one) => one.per === per) ? RANGES[per] : null;
    const spent = { day: useUsage(slug, wanted("day")), month: useUsage(slug, wanted("month")) };
    const days = useUsage(slug, budgets.length > 0 ? "30d" : null);
    if (budgets.length === 0 || days === undefined) return null;
    const pace = costPerDay(days.groups, now);
    return (
        <Card
            title="Budgets"
            aside={<a href={href(pathOf("t", slug, "alerts"), { tab: "rules" })}>Rules</a>}
        >
            <ul class="budgets">
                {budgets.map((budget, i) => {
                    const total = spent[budget.per]?.total;
                    if (total === undefined) return null;
                    const so_far = Number(total.cost ?? 0);
                    const end = so_far + pace * daysLeft(budget.per, now);
                    return <Budget key={i} budget={budget} figures={{ spent: so_far, end }} />;
                })}
            </ul>
            <p class="hint">
                Days and months are UTC. The forecast adds the average of the last seven full days for
                the time that is left. A budget raises an alert when it is exceeded; it stops no agent.
            </p>
        </Card>
    );
}
