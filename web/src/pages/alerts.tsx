// Alerts: what is wrong now, what was, and where it is told.

import type { Alert } from "api";

import { call } from "../lib/api";
import { useLiveQuery } from "../lib/query";
import { chosen } from "../lib/ranges";
import { pathOf } from "../lib/route";
import { useMay } from "../features/access/session";
import type { PageProps } from "../app/pages";
import { AlertRow } from "../features/alerts/alert_row";
import { Empty, ErrorNote, Heading, Live, Skeleton } from "../ui/basics";
import { Pager } from "../ui/pager";
import { Rules } from "../features/alerts/rules";
import { Tabs } from "../ui/tabs";
import { Webhooks } from "../features/webhooks/webhooks";

const ALERTS = "GET /api/v1/tenants/{slug}/alerts";
const PAGE = 100;

const TABS = [
    { value: "open", label: "Open" },
    { value: "history", label: "History" },
    { value: "rules", label: "Rules" },
];
const ADMIN_TABS = [...TABS, { value: "webhooks", label: "Webhooks" }];

const NOTHING = {
    open: "Nothing is wrong",
    closed: "Nothing was ever wrong",
};

function List(props: { slug: string; state: Alert["state"]; query: URLSearchParams }) {
    const { slug, state, query } = props;
    const cursor = query.get("cursor");
    const { data, error, loading, reload } = useLiveQuery(
        slug,
        `${ALERTS} ${slug} ${state} ${cursor}`,
        (signal) => call(ALERTS, { path: { slug }, query: { state, limit: PAGE, cursor }, signal }),
        (news) => news.kind === "alert",
    );
    return (
        <>
            {error && <ErrorNote error={error} retry={reload} />}
            {loading && <Skeleton rows={4} />}
            {data && data.alerts.length === 0 && (
                <Empty title={NOTHING[state]}>
                    <p>
                        An alert opens when an agent that declared an interval falls silent, when a
                        run stays open for a day, and as the rules say.
                    </p>
                </Empty>
            )}
            {data && data.alerts.length > 0 && (
                <ul class="alerts">
                    {data.alerts.map((one) => (
                        <AlertRow key={one.alert_id} slug={slug} alert={one} onChange={reload} />
                    ))}
                </ul>
            )}
            <Pager next={data?.next} />
        </>
    );
}

export default function Alerts({ slug, query }: PageProps) {
    const { admin } = useMay(slug);
    const tabs = admin ? ADMIN_TABS : TABS;
    const tab = chosen(tabs, query.get("tab"), "open");
    return (
        <>
            <Heading title="Alerts">
                {tab !== "rules" && <Live />}
            </Heading>
            <Tabs
                label="Parts of the alerts"
                path={pathOf("t", slug, "alerts")}
                tabs={tabs}
                value={tab}
            />
            {tab === "webhooks" && <Webhooks slug={slug} log={query.get("log")} />}
            {tab === "rules" && <Rules slug={slug} may={admin} />}
            {tab === "open" && <List key="open" slug={slug} state="open" query={query} />}
            {tab === "history" && <List key="closed" slug={slug} state="closed" query={query} />}
        </>
    );
}
