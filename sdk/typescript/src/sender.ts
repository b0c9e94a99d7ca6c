// Sends what is in the queues in the background, and does the agent's other errands.
//
// Reports never wait for it and never fail because of it. It sends a queue when enough reports wait
// or the oldest has waited long enough; after a failure it waits a random time that doubles with
// each further failure (full jitter), and never less than the service asked for with Retry-After.
// When the service refuses the key, sending stops with one message, and the queues keep what they
// have until the key changes or the agent is started again.

import { deliverEvents, deliverReports, type Deliver } from "./delivery.js";
import { MusterError, Refused, Unavailable, type Tell } from "./errors.js";
import type { Chunk, Queue } from "./spool.js";
import type { Transport } from "./transport.js";

export const limits = { backoffFirstMs: 1000, backoffMaxMs: 60_000 };
const CHUNK_LINES = 1000; // of one request, when many reports wait
const CHUNK_BYTES = 1 << 20;
const ADOPT_EVERY_MS = 30_000;
const REFUSED_LOOK_EVERY_MS = 5000; // for a new key in the key file

/** When to try again. */
export class Backoff {
    notBefore = 0;
    private failures = 0;

    failed(now: number, retryAfterS: number): void {
        const ceiling = Math.min(limits.backoffMaxMs, limits.backoffFirstMs * 2 ** this.failures);
        this.failures = Math.min(this.failures + 1, 16);
        this.notBefore = now + retryAfterS * 1000 + Math.random() * ceiling;
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
        readonly queue: Queue,
        readonly deliver: Deliver,
        readonly full: number, // reports that are worth a request at once
        readonly lingerMs: number, // after which fewer are, too
    ) {}

    static events = (queue: Queue): Lane => new Lane(queue, deliverEvents, 100, 2000);

    /** Waits longer: reports of one run merge into one request while they wait. */
    static reports = (queue: Queue): Lane => new Lane(queue, deliverReports, 1000, 5000);

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
    refusal: Refused | undefined;
    sent = 0;
    retries = 0;
    private hurryUntil = 0;
    private closing = false;
    private nudged = false;
    private away = false;
    private working: Promise<void> | undefined;
    private continueNow: () => void = () => {};
    private watchers: (() => void)[] = [];

    constructor(
        private readonly transport: Transport,
        readonly lanes: Lane[],
        private readonly tell: Tell,
        private readonly warn: (text: string) => void,
    ) {
        const adopt = new Errand(async () => {
            this.adopt();
            return ADOPT_EVERY_MS;
        });
        adopt.due = performance.now() + ADOPT_EVERY_MS;
        this.errands.push(adopt);
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
        if (this.refusal && !this.keyChanged()) return REFUSED_LOOK_EVERY_MS;
        for (const errand of [...this.errands]) {
            if (performance.now() >= errand.dueAt()) await this.run(errand);
        }
        for (const lane of this.lanes) {
            this.tellLost(lane);
            if (!this.refusal && performance.now() >= lane.dueAt(hurry)) await this.send(lane);
        }
        if (this.refusal) return REFUSED_LOOK_EVERY_MS;
        const waits = this.errands.map((errand) => errand.dueAt());
        waits.push(...this.lanes.map((lane) => lane.dueAt(hurry)));
        return Math.max(0, Math.min(...waits) - performance.now());
    }

    private keyChanged(): boolean {
        if (!this.transport.keys.reload()) return false;
        this.refusal = undefined;
        return true;
    }

    private adopt(): void {
        for (const lane of this.lanes) lane.queue.adopt();
    }

    private async run(errand: Errand): Promise<void> {
        let pause: number | undefined;
        try {
            pause = await errand.work();
            errand.backoff.succeeded();
        } catch (error) {
            if (error instanceof Unavailable) return this.failed(errand.backoff, error);
            if (error instanceof Refused) return this.refuse(error);
            this.warn(error instanceof MusterError ? error.message : String(error));
        }
        if (pause === undefined) this.errands.splice(this.errands.indexOf(errand), 1);
        else errand.due = performance.now() + pause;
    }

    private async send(lane: Lane): Promise<void> {
        lane.chunk ??= lane.queue.read(CHUNK_LINES, CHUNK_BYTES);
        if (lane.chunk === undefined) return;
        try {
            this.sent += await lane.deliver(this.transport, lane.chunk, this.tell);
        } catch (error) {
            if (error instanceof Refused) return this.refuse(error);
            if (error instanceof Unavailable) return this.failed(lane.backoff, error);
            // a status or an answer that this version does not know: try again, slowly
            return this.failed(
                lane.backoff,
                new Unavailable(String(error), limits.backoffMaxMs / 1000),
            );
        }
        lane.queue.commit(lane.chunk);
        lane.chunk = undefined;
        lane.backoff.succeeded();
        this.away = false;
    }

    private failed(backoff: Backoff, error: Unavailable): void {
        this.retries++;
        backoff.failed(performance.now(), error.retryAfter);
        if (!this.away) this.warn(`${error.message}; reports are kept and sent later`);
        this.away = true;
    }

    private refuse(error: Refused): void {
        this.refusal = error;
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
        return due.length > 0 && Math.min(...due) > deadline;
    }

    /** Sends what waits, now; whether everything went out within `timeoutMs`. */
    async flush(timeoutMs: number): Promise<boolean> {
        const deadline = performance.now() + timeoutMs;
        this.adopt();
        this.hurryUntil = deadline;
        while (!this.idle) {
            const left = deadline - performance.now();
            if (left <= 0 || this.refusal || this.hopeless(deadline)) return false;
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
        this.closing = true;
        this.continueNow();
        if (this.working === undefined) for (const lane of this.lanes) lane.queue.close();
        else if (done) await this.working;
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
