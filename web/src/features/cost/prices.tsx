// Prices per million tokens of each model; a platform admin may set, import and remove them.

import type { Price } from "api";
import { useState } from "preact/hooks";

import { call } from "../../lib/api";
import { useQuery } from "../../lib/query";
import { setQuery, useRoute } from "../../lib/route";
import { ConfirmButton, Empty, Icon, ListCard, SearchField, ShowMore, Time } from "../../ui";
import { ImportPrices, SetPrice } from "./price_dialogs";

const OF_TENANT = "GET /api/v1/tenants/{slug}/prices";
const OF_PLATFORM = "GET /api/v1/platform/prices";

const SHOWN_FIRST = 200;

function Model({ price }: { price: Price }) {
    return (
        <>
            <b dir="auto">{price.model}</b>{" "}
            <span class="muted" dir="auto">
                {price.provider}
            </span>
            {price.aliases.length > 0 && (
                <small class="muted">
                    {" "}
                    also <bdi>{price.aliases.join(", ")}</bdi>
                </small>
            )}
        </>
    );
}

/** The day of the built-in list, whose dates are whole days in UTC. */
const builtInDay = (price: Price) => price.built_in_as_of?.slice(0, 10);

function BuiltInNote({ prices }: { prices: Price[] }) {
    const day = prices.map(builtInDay).find((one) => one !== undefined);
    if (day === undefined) return null;
    return (
        <p class="muted">
            Built-in prices are list prices as the providers published them up to {day}, without
            discounts. A price that a platform admin sets or imports replaces the built-in one.
        </p>
    );
}

function RemovePrice({ price, onRemoved }: { price: Price; onRemoved: () => void }) {
    const { model, price_id } = price;
    return (
        <ConfirmButton
            label="Remove"
            name={`Remove the price of ${model}`}
            title={`Remove the price of ${model}?`}
            text="Costs are computed when they are displayed, so the cost of past usage changes too."
            verb="Remove"
            onConfirm={async () => {
                await call("DELETE /api/v1/platform/prices/{price_id}", { path: { price_id } });
                onRemoved();
            }}
        />
    );
}

/** `slug` null: the platform's, which can be changed. */
export function Prices({ slug }: { slug: string | null }) {
    const search = useRoute().query.get("q") ?? "";
    const [open, setOpen] = useState<"set" | "import" | null>(null);
    const [limit, setLimit] = useState(SHOWN_FIRST);
    const prices = useQuery(`prices ${slug}`, (signal) =>
        slug === null
            ? call(OF_PLATFORM, { signal })
            : call(OF_TENANT, { path: { slug }, signal }),
    );
    const { reload } = prices;
    const matching = (prices.data?.prices ?? []).filter((one) =>
        `${one.model} ${one.provider} ${one.aliases.join(" ")}`
            .toLowerCase()
            .includes(search.toLowerCase()),
    );
    const close = () => setOpen(null);
    return (
        <ListCard
            title="Prices"
            aside={
                slug === null ? (
                    <>
                        <button type="button" onClick={() => setOpen("import")}>
                            Import
                        </button>
                        <button type="button" class="primary" onClick={() => setOpen("set")}>
                            <Icon name="plus" /> Set a price
                        </button>
                    </>
                ) : (
                    "US dollars per million tokens"
                )
            }
            above={
                <>
                    <BuiltInNote prices={prices.data?.prices ?? []} />
                    <div class="filters">
                        <SearchField
                            label="Model"
                            placeholder="Model"
                            value={search}
                            onChange={(q) => setQuery({ q }, { typed: true })}
                        />
                    </div>
                </>
            }
            loaded={prices}
            skeleton={4}
            empty={
                <Empty title={search === "" ? "No prices yet" : "No prices match"}>
                    <p>
                        Tokens of models without a price are counted; their cost is shown as
                        unknown.
                    </p>
                </Empty>
            }
            rows={matching.slice(0, limit)}
            keyOf={(price) => price.price_id}
            columns={[
                { title: "Model", class: "grow", cell: (price) => <Model price={price} /> },
                {
                    title: "Input",
                    class: "fit number",
                    label: "input",
                    cell: (price) => price.input,
                },
                {
                    title: "Output",
                    class: "fit number",
                    label: "output",
                    cell: (price) => price.output,
                },
                {
                    title: "Cache reads",
                    class: "fit number",
                    label: "cache reads",
                    cell: (price) => price.cache_read ?? "–",
                },
                {
                    title: "Cache writes",
                    class: "fit number wide",
                    cell: (price) => price.cache_write ?? "–",
                },
                {
                    title: "Valid from",
                    class: "fit wide",
                    cell: (price) => <Time at={price.valid_from} fallback="always" />,
                },
                {
                    title: "Source",
                    class: "fit wide",
                    cell: (price) =>
                        price.built_in_as_of === null
                            ? "set or imported"
                            : `built in, ${builtInDay(price)}`,
                },
            ]}
            buttons={
                slug === null && ((price) => <RemovePrice price={price} onRemoved={reload} />)
            }
        >
            <ShowMore
                shown={limit}
                total={matching.length}
                onMore={() => setLimit(limit + 5 * SHOWN_FIRST)}
            />
            {open === "set" && (
                <SetPrice
                    onClose={close}
                    onDone={() => {
                        close();
                        reload();
                    }}
                />
            )}
            {open === "import" && <ImportPrices onClose={close} onDone={reload} />}
        </ListCard>
    );
}
