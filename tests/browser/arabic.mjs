// A workspace where everything that agents send and people name is Arabic.

import { randomUUID } from "node:crypto";

import { event } from "./fleet.mjs";

const AGENT = "قارئ الفواتير";
const TEXT = "قرأ أربعين فاتورة";
const MODEL = "نموذج";

async function report(send, run) {
    const of = { agent_name: AGENT, run_id: run.id, timestamp: new Date().toISOString() };
    const breakdowns = [{ metric: "invoices", by: "بلد", slices: { مصر: 40 } }];
    await send("/api/v1/telemetry/business", { ...of, metrics: { invoices: 40 }, breakdowns });
    await send("/api/v1/telemetry/llm", { ...of, model: MODEL, input_tokens: 9, calls: 1 });
}

/** What people set and name. */
async function settle(person) {
    const base = "/api/v1/tenants/arabic";
    const agent = `${base}/agents/${encodeURIComponent(AGENT)}`;
    const put = (path, body) => person.ask("PUT", path, body);
    const add = (path, body) => person.ask("POST", path, body);
    await add(`${base}/keys`, { label: TEXT, agent_name: AGENT });
    await add(`${base}/webhooks`, { url: "https://example.org/", label: TEXT });
    const window = { weekdays: ["sun"], start: "01:00", minutes: 5 };
    await add(`${base}/maintenance`, { ...window, agent_name: AGENT, note: TEXT });
    const price = { model: MODEL, provider: TEXT, aliases: [`${MODEL} ثان`] };
    await add("/api/v1/platform/prices", { ...price, input: "1", output: "2" });
    for (const path of ["/api/v1/platform", base, agent]) await put(`${path}/model`, { model: MODEL });
    await put(`${agent}/command-policy`, { mode: "allowlist", allow: [TEXT], deny: [] });
    for (const document of [TEXT, `${TEXT} ${TEXT}`]) await put(`${agent}/document`, { document });
    await put(`${agent}/values/region`, { value: TEXT });
    await put(`${base}/values/region`, { value: TEXT });
    await put(`${base}/rules`, {
        run_failed: true,
        kpis: [{ key: "invoices", agent_name: AGENT, above: 100 }],
        budgets: [{ amount: "1", per: "day", agent_name: AGENT, model: MODEL }],
        failure_rates: [{ percent: 10, agent_name: AGENT }],
        durations: [{ seconds: 5, agent_name: AGENT }],
    });
}

/** The run whose agent, texts and errors are Arabic; it fails, and an alert says so. */
export async function fillArabic(server, person) {
    const tenant = server.addTenant("arabic");
    const send = (path, body) => server.send(tenant, path, body);
    const run = { agent: AGENT, id: randomUUID(), from: Date.now() - 60_000 };
    const io = [{ key: "مبلغ", type: "رقم" }];
    await send("/api/v1/agents/register", {
        agent_name: AGENT,
        agent_version: "الأول",
        description: TEXT,
        telemetry_doc: TEXT,
        business_kpis: [{ key: "invoices", label: "عدد الفواتير", unit: "count", agg: "sum" }],
        inputs: io,
        outputs: io,
        config_schema: { params: [{ key: "region", label: "منطقة", help: TEXT }] },
    });
    await settle(person);
    const more = { category: "قراءة", source: "قارئ", message: TEXT, workflow_run_id: "شهر" };
    const own = { ...more, agent_version: "الأول", metrics: { صفحات: 2 } };
    await send("/api/v1/telemetry/batch", {
        events: [
            event(tenant, run, "started", 0, own),
            event(tenant, run, "in_progress", 500, { ...own, metadata: { مكان: TEXT } }),
            event(tenant, run, "failed", 1000, {
                ...own,
                error_type: "خطأ",
                error_message: TEXT,
                output: { نتيجة: TEXT },
            }),
        ],
    });
    await report(send, run);
    return run;
}
