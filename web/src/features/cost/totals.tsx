// The totals of a period, and the models that are missing from its cost.

import type { UsageGroup } from "api";
import { useState } from "preact/hooks";

import { compact, cost, count, percent } from "../../lib/format";
import { href } from "../../lib/route";
import { Copyable, Fact } from "../../ui";
import { useRoles } from "../access/session";
import { SetPrice } from "./price_dialogs";

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

/** The models without a price; a platform admin sets one where it is missed. */
export function UnpricedModels({ slug, models }: { slug: string; models: string[] }) {
    const { platform } = useRoles(slug);
    const [pricing, setPricing] = useState<string | null>(null);
    const close = () => setPricing(null);
    if (models.length === 0) return null;
    const one = models.length === 1;
    return (
        <div class="note warn">
            <div>
                <p>
                    <strong>{one ? "A model has" : `${models.length} models have`} no price</strong>
                    , so {one ? "its" : "their"} tokens are missing from all costs.{" "}
                    {platform ? (
                        <a href={href("/platform", { tab: "prices" })}>All prices</a>
                    ) : (
                        "A platform admin can set prices."
                    )}
                </p>
                <p class="unpriced">
                    {models.map((model) => (
                        <span key={model}>
                            <Copyable text={model} />
                            {platform && (
                                <button
                                    type="button"
                                    aria-label={`Set a price for ${model}`}
                                    onClick={() => setPricing(model)}
                                >
                                    Set a price
                                </button>
                            )}
                        </span>
                    ))}
                </p>
                {pricing !== null && (
                    <SetPrice of={pricing} onClose={close} onDone={close} />
                )}
            </div>
        </div>
    );
}
