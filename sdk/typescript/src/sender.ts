// Sends what is in the queues in the background, and does the agent's other errands.
//
// Reports never wait for it and never fail because of it. It sends a queue when enough reports wait
// or the oldest has waited long enough; after a failure it waits a random time that doubles with
// each further failure (full jitter). What the service asks for with Retry-After holds everything,
// unless it answers an errand: that keys may not be rotated now does not concern reports.
// When the service refuses the key or the address, that is told once, and tried again every two
// minutes, or at once with another key; the queues keep what they have.

import { deliverEvents, deliverReports, type Deliver } from "./delivery.js";
import { Refused, Unavailable, type Tell, type Warn } from "./errors.js";
import type { Chunk, Spool } from "./spool.js";
import type { Transport } from "./transport.js";

export const limits = { backoffFirstMs: 1000, backoffMaxMs: 60_000, refusedMs: 120_000 };
const CHUNK_LINES = 1000; // of one request, when many reports wait
const CHUNK_BYTES = 1 << 20;
const ADOPT_EVERY_MS = 30_000;
const KEY_LOOK_EVERY_MS = 5000; // for a new key in the key file, after a refusal

/** When to try again. */
export class Backoff {
    notBefore = 0;
    private failures = 0;

    failed(now: number, atLeastMs = 0): void {
        const ceiling = Math.min(limits.backoffMaxMs, limits.backoffFirstMs * 2 ** this.failures);
        this.failures = Math.min(this.failures + 1, 16);
        this.notBefore = now + atLeastMs + Math.random() * ceiling;
    }

    succeeded(): void {
        this.failures = this.notBefore = 0;
    }
}

/** A queue and how to empty it. */
export class Lane {
    readonly backoff = new Backoff();
    chunk: Chunk | undefined; // out for delivery, partly settled
    lostTold = 0;

    private constructor(
        readonly queue: Spool,
        readonly deliver: Deliver,
        readonly full: number, // reports that are worth a request at once
        readonly lingerMs: number, // after which fewer are, too
    ) {}

    static events = (queue: Spool): Lane => new Lane(queue, deliverEvents, 100, 2000);

    /** Waits longer: reports of one run merge into one request while they wait. */
    static reports = (queue: Spool): Lane => new Lane(queue, deliverReports, 1000, 5000);

    /** When to send, by performance.now(); infinite: there is nothing to send. */
    dueAt(hurry: boolean): number {
        const { waiting, since } = this.queue;
        if (waiting === 0) return Infinity;
        const when = hurry || waiting >= this.full ? 0 : since + this.lingerMs;
        return Math.max(when, this.backoff.notBefore);
    }
}

/** Something else to do now and then. It returns the ms until the next time, or undefined. */
export class Errand {
    readonly backoff = new Backoff();
    due = 0;
    told = false; // that it fails

    constructor(
        readonly work: () => Promise<number | undefined>,
        readonly blocksFlush = false,
    ) {}

    dueAt(): number {
        return Math.max(this.due, this.backoff.notBefore);
    }
}

/** One per agent. It never keeps the process alive by waiting. */
export class Sender {
    readonly errands: Errand[] = [];
    sent = 0;
    retries = 0;
    private refused = false; // told, and nothing has worked since
    private heldUntil = 0; // the service asked for it, or has refused
    private hurryUntil = 0;
    private nudged = false;
    private readonly outage = { told: false };
    private working: Promise<void> | undefined;
    private continueNow: () => void = () => {};
    private watchers: (() => void)[] = [];

    /** `transport` ends with the signal of `ending`. */
    constructor(
        private readonly transport: Transport,
        private readonly ending: AbortController,
        readonly lanes: Lane[],
        private readonly tell: Tell,
        private readonly warn: Warn,
    ) {
        const adopt = new Errand(async () => {
            this.adopt();
            return ADOPT_EVERY_MS;
        });
        adopt.due = performance.now() + ADOPT_EVERY_MS;
        this.errands.push(adopt);
    }

    private get closing(): boolean {
        return this.ending.signal.aborted;
    }

    /** There is something to do. */
    wake(): void {
        if (this.closing) return;
        this.nudged = true;
        this.continueNow();
        this.working ??= this.work();
    }

    private async work(): Promise<void> {
        while (!this.closing) {
            this.nudged = false;
            let pause = limits.backoffMaxMs;
            try {
                pause = await this.turn(performance.now() < this.hurryUntil);
            } catch (error) {
                this.warn(`unexpected error in the background sender: ${String(error)}`);
            }
            for (const watcher of this.watchers.splice(0)) watcher();
            if (pause > 0 && !this.nudged && !this.closing) await this.sleep(pause);
        }
        for (const lane of this.lanes) lane.queue.close();
    }

    private sleep(ms: number): Promise<void> {
        return new Promise((resolve) => {
            const timer = setTimeout(resolve, Math.min(ms, ADOPT_EVERY_MS));
            timer.unref();
            this.continueNow = () => {
                clearTimeout(timer);
                resolve();
            };
        });
    }

    /** Does what is due; returns the ms until something else is. */
    private async turn(hurry: boolean): Promise<number> {
        for (const lane of this.lanes) this.tellLost(lane);
        if (this.refused && this.transport.keys.reload()) this.heldUntil = 0;
        for (const errand of [...this.errands]) {
            if (this.mayGo(errand.dueAt())) await this.run(errand);
        }
        for (const lane of this.lanes) {
            if (this.mayGo(lane.dueAt(hurry))) await this.send(lane);
        }
        const waits = this.errands.map((errand) => errand.dueAt());
        waits.push(...this.lanes.map((lane) => lane.dueAt(hurry)));
        const pause = Math.max(Math.min(...waits), this.heldUntil) - performance.now();
        return Math.max(0, this.refused ? Math.min(pause, KEY_LOOK_EVERY_MS) : pause);
    }

    private mayGo(due: number): boolean {
        return !this.closing && performance.now() >= Math.max(due, this.heldUntil);
    }

    private adopt(): void {
        for (const lane of this.lanes) lane.queue.adopt();
    }

    private async run(errand: Errand): Promise<void> {
        try {
            const pause = await errand.work();
            errand.backoff.succeeded();
            errand.told = false;
            if (pause === undefined) this.errands.splice(this.errands.indexOf(errand), 1);
            else errand.due = performance.now() + pause;
        } catch (error) {
            this.failed(errand.backoff, error, errand);
        }
    }

    private async send(lane: Lane): Promise<void> {
        lane.chunk ??= lane.queue.read(CHUNK_LINES, CHUNK_BYTES);
        if (lane.chunk === undefined) return;
        try {
            this.sent += await lane.deliver(this.transport, lane.chunk, this.tell);
        } catch (error) {
            this.failed(lane.backoff, error);
            return;
        }
        lane.queue.commit(lane.chunk);
        lane.chunk = undefined;
        lane.backoff.succeeded();
        this.outage.told = this.refused = false;
    }

    /** Whatever went wrong is tried again, later and later. */
    private failed(backoff: Backoff, error: unknown, errand?: Errand): void {
        if (this.closing) return;
        const wait = error instanceof Unavailable ? error.retryAfter * 1000 : 0;
        this.retries++;
        backoff.failed(performance.now(), wait);
        if (error instanceof Refused) {
            this.hold(limits.refusedMs);
            if (!this.refused) this.tellRefused(error);
            this.refused = true;
            return;
        }
        if (errand === undefined) this.hold(wait);
        const said = error instanceof Error ? error.message : String(error);
        const told = errand === undefined || error instanceof Unavailable ? this.outage : errand;
        if (!told.told) this.warn(`${said}; reports are kept and sent later`);
        told.told = true;
    }

    private hold(ms: number): void {
        if (ms > 0) this.heldUntil = Math.max(this.heldUntil, performance.now() + ms);
    }

    private tellRefused(error: Refused): void {
        const advice = "check the key, the workspace and the url; reports are kept until then";
        const detail = `the service refuses reports (${error.message}): ${advice}`;
        this.tell({ kind: "refused", detail, reports: [], count: 0 });
    }

    private tellLost(lane: Lane): void {
        const count = lane.queue.lost - lane.lostTold;
        if (count === 0) return;
        lane.lostTold += count;
        const detail = `the spool was full: ${count} of the oldest reports were dropped`;
        this.tell({ kind: "dropped", detail, reports: [], count });
    }

    private get idle(): boolean {
        const busy = this.lanes.some((lane) => lane.queue.waiting > 0);
        return !busy && !this.errands.some((errand) => errand.blocksFlush);
    }

    /** Whether the next attempt would come too late. */
    private hopeless(deadline: number): boolean {
        const due = this.lanes.map((lane) => lane.dueAt(true)).filter((when) => when < Infinity);
        due.push(...this.errands.filter((e) => e.blocksFlush).map((e) => e.backoff.notBefore));
        return this.heldUntil > deadline || Math.min(...due) > deadline;
    }

    /** Sends what waits, now; whether everything went out within `timeoutMs`. */
    async flush(timeoutMs: number): Promise<boolean> {
        const deadline = performance.now() + timeoutMs;
        this.adopt();
        this.hurryUntil = deadline;
        while (!this.idle) {
            const left = deadline - performance.now();
            if (left <= 0 || this.closing || this.hopeless(deadline)) return false;
            this.wake();
            await new Promise<void>((resolve) => {
                const timer = setTimeout(resolve, Math.min(left, 100)); // keeps the process alive
                this.watchers.push(() => {
                    clearTimeout(timer);
                    resolve();
                });
            });
        }
        return true;
    }

    /** Flushes and ends the work. What could not be sent stays in the spool. */
    async close(timeoutMs: number): Promise<boolean> {
        const done = await this.flush(timeoutMs);
        if (this.closing) return done;
        this.ending.abort();
        this.continueNow();
        if (this.working === undefined) for (const lane of this.lanes) lane.queue.close();
        await this.working;
        return done;
    }

    counters() {
        const sum = (of: (lane: Lane) => number) => this.lanes.reduce((n, lane) => n + of(lane), 0);
        return {
            sent: this.sent,
            retries: this.retries,
            dropped: sum((lane) => lane.queue.lost),
            waiting: sum((lane) => lane.queue.waiting),
        };
    }
}
