// An agent at a glance.

import type { Agent } from "api";

import { count, duration } from "../../lib/format";
import { agentPage, countedRuns } from "../../lib/paths";
import { Fact, Time } from "../../ui";
import { commandsAllowed, sourceOf } from "./directives";
import { scheduleText } from "./schedule";

/** When it first reported or registered; or earlier: when the first of its runs that are counted
 * began, because runs may be sent later. */
function firstSeen({ first_seen_at, versions }: Agent): string {
    const times = [first_seen_at, ...versions.map((one) => one.first_run_at)];
    return times.reduce((first, one) => (Date.parse(one) < Date.parse(first) ? one : first));
}

/** The model that is set, and the one that its reports name, where that is another. */
function Model({ agent, directives }: { agent: Agent; directives: string }) {
    const { model, last_model, last_model_at } = agent;
    const differ = last_model !== null && last_model !== model.model;
    return (
        <Fact label="Model" class={differ ? "both" : ""}>
            {differ && "set: "}
            <a href={directives} dir="auto">
                {model.model ?? "not set"}
            </a>{" "}
            {model.source && <span class="muted">{sourceOf(model.source)}</span>}
            {differ && (
                <>
                    <br />
                    used: <b dir="auto">{last_model}</b>{" "}
                    <span class="muted">
                        <Time at={last_model_at} />
                    </span>
                </>
            )}
        </Fact>
    );
}

export function AgentFacts({ slug, agent }: { slug: string; agent: Agent }) {
    const { counts } = agent;
    const ended = counts.completed + counts.failed;
    const directives = agentPage(slug, agent.agent_name, "directives");
    return (
        <dl class="facts">
            <Fact label="Last seen">
                <Time at={agent.last_seen_at} />
            </Fact>
            <Fact label="Next expected">
                <Time due at={agent.next_expected_at} fallback="no schedule" />
            </Fact>
            <Fact label="Expected">{scheduleText(agent.schedule)}</Fact>
            <Fact label="Runs">
                <a class="target" href={countedRuns(slug, agent)}>
                    {counts.counted_since !== null && "the newest "}
                    {count(counts.runs)}
                </a>
                {counts.in_progress > 0 && (
                    <>
                        {" "}
                        <a
                            class="muted target"
                            href={countedRuns(slug, agent, { status: "in_progress" })}
                        >
                            {count(counts.in_progress)} running
                        </a>
                    </>
                )}
            </Fact>
            <Fact label="Failed">
                <a href={countedRuns(slug, agent, { status: "failed" })}>
                    {count(counts.failed)}
                    {counts.counted_since !== null && ` of the newest ${count(counts.runs)}`}
                </a>
                {ended > 0 && (
                    <span class="muted"> {Math.round((counts.failed / ended) * 100)} %</span>
                )}
            </Fact>
            <Fact label="Median duration">
                {counts.median_duration_ms === null ? "–" : duration(counts.median_duration_ms)}
            </Fact>
            <Fact label="First seen">
                <Time at={firstSeen(agent)} />
            </Fact>
            <Model agent={agent} directives={directives} />
            <Fact label="May run">
                <a href={directives}>{commandsAllowed(agent.command_policy.mode)}</a>
            </Fact>
        </dl>
    );
}
