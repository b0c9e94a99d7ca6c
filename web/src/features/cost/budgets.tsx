// The budgets of a workspace: what is spent of each, and what will be at the end of its period.

import type { BudgetRule, UsageGroup } from "api";

import { call } from "../../lib/api";
import { useNow } from "../../lib/clock";
import { dollars, percent } from "../../lib/format";
import { costPerDay, daysLeft } from "../../lib/forecast";
import { useLiveQuery, useQuery } from "../../lib/query";
import { href, pathOf } from "../../lib/route";
import { Card, Chip } from "../../ui";
import type { Limit } from "../../ui/chart_parts";

const RULES = "GET /api/v1/tenants/{slug}/rules";
const USAGE = "GET /api/v1/tenants/{slug}/llm/usage";
const SLOW_MS = 60_000;
const RANGES = { day: "today", month: "this_month" };

/** Of a budget's agent, by day and model. */
function useUsage(slug: string, time_range: string, agent_name: string | null) {
    return useLiveQuery(
        slug,
        `${USAGE} ${slug} ${time_range} day,model ${agent_name ?? ""}`,
        (signal) =>
            call(USAGE, {
                path: { slug },
                query: {
                    time_range,
                    group_by: "day,model",
                    ...(agent_name === null ? {} : { agent_name }),
                },
                signal,
            }),
        () => false,
        SLOW_MS,
    ).data;
}

/** Those of the model; all when it is null. */
const ofModel = (groups: readonly UsageGroup[], model: string | null) =>
    model === null ? groups : groups.filter((one) => one.model === model);

const sumOf = (groups: readonly UsageGroup[]) =>
    groups.reduce((sum, one) => sum + Number(one.cost ?? 0), 0);

/** " of agent x with model y" */
const whose = ({ agent_name, model }: BudgetRule) =>
    (agent_name ? ` of ${agent_name}` : "") + (model ? ` with ${model}` : "");

function Whose({ budget: { agent_name, model } }: { budget: BudgetRule }) {
    return (
        <>
            {agent_name && (
                <>
                    {" "}
                    of <bdi>{agent_name}</bdi>
                </>
            )}
            {model && (
                <>
                    {" "}
                    with <bdi>{model}</bdi>
                </>
            )}
        </>
    );
}

function Budget({ slug, budget }: { slug: string; budget: BudgetRule }) {
    const now = useNow();
    const { agent_name = null, model = null } = budget;
    const period = useUsage(slug, RANGES[budget.per], agent_name);
    const days = useUsage(slug, "30d", agent_name);
    if (period === undefined || days === undefined) return null;
    const spent = sumOf(ofModel(period.groups, model));
    const end = spent + costPerDay(ofModel(days.groups, model), now) * daysLeft(budget.per, now);
    const amount = Number(budget.amount);
    const part = amount === 0 ? 1 : spent / amount;
    const over = spent > amount;
    const willBe = !over && end > amount;
    return (
        <li class="budget">
            <p>
                <b>
                    {dollars(spent)} of {dollars(amount)}
                </b>
                <Whose budget={budget} /> {budget.per === "day" ? "today" : "this month"} ({percent(part)}),
                forecast {dollars(end)} {over && <Chip tone="bad">Exceeded</Chip>}
                {budget.hard && !budget.paused && (
                    <Chip tone={over ? "bad" : "quiet"}>{over ? "Stops agents" : "Hard"}</Chip>
                )}
                {willBe && <Chip tone="warn">Will be exceeded</Chip>}
                {budget.paused && <Chip tone="quiet">Paused</Chip>}
            </p>
            <progress
                class={over ? "over" : ""}
                aria-label={`Budget per ${budget.per}${whose(budget)}`}
                max={1}
                value={Math.min(part, 1)}
            />
        </li>
    );
}

function useBudgets(slug: string): BudgetRule[] {
    const rules = useQuery(`${RULES} ${slug}`, (signal) =>
        call(RULES, { path: { slug }, signal }),
    );
    return rules.data?.budgets ?? [];
}

/** What an agent, or the whole workspace, may cost per day: by a budget per day, else by the month's. */
export function useDailyBudget(slug: string, agent_name: string | null = null): Limit | undefined {
    const all = useBudgets(slug).filter(
        (one) => !one.paused && !one.model && (one.agent_name ?? null) === agent_name,
    );
    const least = (per: BudgetRule["per"]) =>
        Math.min(...all.filter((one) => one.per === per).map((one) => Number(one.amount)));
    const [day, month] = [least("day"), least("month")];
    if (Number.isFinite(day)) return { label: "Budget per day", value: day };
    if (!Number.isFinite(month)) return undefined;
    const now = new Date();
    const days = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 0)).getUTCDate();
    return { label: "Budget per month, for each day", value: month / days };
}

export function Budgets({ slug }: { slug: string }) {
    const budgets = useBudgets(slug);
    if (budgets.length === 0) return null;
    return (
        <Card
            title="Budgets"
            aside={<a href={href(pathOf("t", slug, "alerts"), { tab: "rules" })}>Rules</a>}
        >
            <ul class="budgets">
                {budgets.map((budget, i) => (
                    <Budget key={i} slug={slug} budget={budget} />
                ))}
            </ul>
            <p class="hint">
                Days and months are UTC. The forecast adds the average of the last seven full days for
                the time that is left. A budget raises an alert when it is exceeded, a monthly one also when
                its forecast is more; a hard one tells its agents to stop.
            </p>
        </Card>
    );
}
