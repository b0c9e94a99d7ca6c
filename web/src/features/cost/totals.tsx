// The totals of a period, and the models that are missing from its cost.

import type { UsageGroup } from "api";

import { compact, cost, count, percent } from "../../lib/format";
import { href } from "../../lib/route";
import { Copyable, Fact } from "../../ui";
import { useRoles } from "../access/session";

function Tokens({ label, tokens }: { label: string; tokens: number }) {
    return (
        <Fact label={label} title={count(tokens)}>
            {compact(tokens)}
        </Fact>
    );
}

export function UsageTotals({ total }: { total: UsageGroup }) {
    const read = total.input_tokens + total.cache_read_tokens;
    return (
        <dl class="totals">
            <Fact label="Cost">{cost(total.cost)}</Fact>
            <Fact label="Calls">{compact(total.calls)}</Fact>
            <Tokens label="Input tokens" tokens={total.input_tokens} />
            <Tokens label="Output tokens" tokens={total.output_tokens} />
            <Tokens label="Cache reads" tokens={total.cache_read_tokens} />
            <Tokens label="Cache writes" tokens={total.cache_write_tokens} />
            {read > 0 && (
                <Fact label="Cache hit rate">{percent(total.cache_read_tokens / read)}</Fact>
            )}
        </dl>
    );
}

export function UnpricedModels({ slug, models }: { slug: string; models: string[] }) {
    const { platform } = useRoles(slug);
    if (models.length === 0) return null;
    const one = models.length === 1;
    return (
        <div class="note warn">
            <div>
                <p>
                    <strong>{one ? "A model has" : `${models.length} models have`} no price</strong>
                    , so {one ? "its" : "their"} tokens are missing from all costs.{" "}
                    {platform ? (
                        <a href={href("/platform", { tab: "prices" })}>Set prices</a>
                    ) : (
                        "A platform admin can set prices."
                    )}
                </p>
                <p class="unpriced">
                    {models.map((model) => (
                        <Copyable key={model} text={model} />
                    ))}
                </p>
            </div>
        </div>
    );
}
