// Alerts: open and past ones, the rules behind them, and where they are sent.

import { useRoles } from "../features/access/session";
import { Maintenance } from "../features/agents/maintenance";
import { AlertList } from "../features/alerts/alert_list";
import { Rules } from "../features/alerts/rules";
import { Webhooks } from "../features/webhooks/webhooks";
import { chosen } from "../lib/choices";
import type { PageProps } from "../lib/page";
import { pathOf } from "../lib/route";
import { Heading, Live, Tabs } from "../ui";

const TABS = [
    { value: "open", label: "Open" },
    { value: "history", label: "History" },
    { value: "rules", label: "Rules" },
    { value: "maintenance", label: "Maintenance" },
];
const ADMIN_TABS = [...TABS, { value: "webhooks", label: "Webhooks" }];

function Tab({ tab, slug, query }: Omit<PageProps, "params"> & { tab: string }) {
    const { admin } = useRoles(slug);
    switch (tab) {
        case "webhooks":
            return <Webhooks slug={slug} log={query.get("log")} />;
        case "rules":
            return <Rules slug={slug} canEdit={admin} />;
        case "maintenance":
            return <Maintenance slug={slug} />;
        case "history":
            return <AlertList key="closed" slug={slug} state="closed" query={query} />;
        default:
            return <AlertList key="open" slug={slug} state="open" query={query} />;
    }
}

export default function Alerts({ slug, query }: PageProps) {
    const { admin } = useRoles(slug);
    const tabs = admin ? ADMIN_TABS : TABS;
    const tab = chosen(tabs, query.get("tab"), "open");
    return (
        <>
            <Heading title="Alerts">{tab !== "rules" && tab !== "maintenance" && <Live />}</Heading>
            <Tabs
                label="Sections of the alerts"
                path={pathOf("t", slug, "alerts")}
                tabs={tabs}
                value={tab}
            />
            <Tab tab={tab} slug={slug} query={query} />
        </>
    );
}
