// A workspace for the tests of a suite, and the pages that they open in it.

import { after, before, test } from "node:test";

import { sendRuns } from "./fleet.mjs";
import { ADMIN, Clock, close, openAs, openBrowser, Person, Server, sharedServer } from "./muster.mjs";

export class Suite {
    /** On the shared server, or on one of its own: with settings, or with a clock that tests move, which is
     * so many seconds ahead when the server starts. */
    constructor(slug, { settings, clock = false, ahead = 0 } = {}) {
        this.slug = slug;
        this.own = settings !== undefined || clock;
        this.settings = settings;
        this.hasClock = clock;
        this.ahead = ahead;
    }

    /** To be called in the suite, before its tests; `fill` sends what they need. */
    begin(fill = () => {}) {
        before(async () => {
            if (this.hasClock) {
                this.clock = new Clock();
                this.clock.advance(this.ahead);
            }
            this.server = this.own
                ? await Server.start(this.settings, this.clock?.environment)
                : await sharedServer();
            this.browser = await openBrowser();
            this.tenant = this.addTenant(this.slug);
            await fill();
        });
        after(async () => {
            if (this.own) await this.server?.stop();
            this.clock?.remove();
        });
    }

    addTenant(slug) {
        return this.server.addTenant(slug, this.own ? undefined : ADMIN);
    }

    cli(...words) {
        return this.server.cli(words);
    }

    /** As agents of the workspace do. */
    send(path, body, tenant = this.tenant) {
        return this.server.send(tenant, path, body);
    }

    register(agent_name, more = {}, tenant = this.tenant) {
        return this.send("/api/v1/agents/register", { agent_name, ...more }, tenant);
    }

    /** Events, as many at once as the service takes. */
    async events(events, tenant = this.tenant) {
        for (let i = 0; i < events.length; i += 500)
            await this.send("/api/v1/telemetry/batch", { events: events.slice(i, i + 500) }, tenant);
    }

    runs(runs, tenant = this.tenant) {
        return sendRuns(this.server, tenant, runs);
    }

    /** Tokens of a run, at a time in ms. */
    usage(agent_name, run_id, at, model, input_tokens, more = {}, tenant = this.tenant) {
        const report = { agent_name, run_id, timestamp: new Date(at).toISOString(), model, input_tokens };
        return this.send("/api/v1/telemetry/llm", { ...report, ...more }, tenant);
    }

    /** Values of KPIs. */
    business(agent_name, run_id, at, metrics, more = {}, tenant = this.tenant) {
        const report = { agent_name, run_id, timestamp: new Date(at).toISOString(), metrics };
        return this.send("/api/v1/telemetry/business", { ...report, ...more }, tenant);
    }

    person(email = this.tenant.email) {
        return Person.signIn(this.server, email);
    }

    /** The address of a page: of the workspace, unless it begins with "/"; a function gives one that
     * depends on what was filled. */
    hash(place) {
        const path = typeof place === "function" ? place() : place;
        return path.startsWith("/") ? path : `/t/${this.slug}/${path}`;
    }

    /** A signed-in page; `fresh`, or with options of a context, it is a new one. */
    open(place, { email = this.tenant.email, fresh = false, ...options } = {}) {
        const isNew = fresh || Object.keys(options).length > 0;
        return openAs(this.browser, this.server, email, this.hash(place), isNew ? options : undefined);
    }

    go(page, place) {
        return page.goto(`${this.server.url}/#${this.hash(place)}`);
    }

    /** A test of a page, in which no error may happen; one that closes the page itself may have some. */
    test(name, place, run, options) {
        test(name, async () => {
            const page = await this.open(place, options);
            await run(page);
            if (!page.isClosed()) await close(page);
        });
    }
}
