// A bounded queue of reports on disk.
//
// 1. A report is in a file when `append` returns, so it survives a crash of the process.
// 2. A report leaves its file only after `commit`, that is, after the service has stored it or has
//    said that it never will. A crash in between sends it again; its `event_id` makes that harmless.
// 3. Reports leave in the order in which they came, because a total replaces the total before it.
//    Files are numbered, and those of a thread that has died are adopted in their order, by one
//    process: all of them or none. Each thread writes files of its own, which carry its name.
// 4. What the disk refuses is kept in memory, in its place in the order, and a crash loses it.
// 5. When the queue is full its oldest segment is dropped: what happened last matters most, and a
//    run that loses its beginning still shows how it ended. Losses are counted.

import * as fs from "node:fs";
import { join } from "node:path";

import type { Warn } from "./errors.js";
import { FileSegment, MemorySegment, linesOf, type Segment } from "./segment.js";
import { NO_OWNER, OWNER, STALE_MS, isOwned, takeLock } from "./state.js";
import { attempt } from "./values.js";

const SEGMENTS = 16; // in a full queue; one of them is what a full queue loses at once
const SEGMENT_MAX_BYTES = 1 << 20;
const DISK_AGAIN_MS = 1000; // after the disk refused, until it is tried again

/** Its queue, when its writer started, its owner, and its number. */
const NAME = /^(\w+)-(\d{16})-([\w.]+)-(\d+)\.jsonl$/;

/** The oldest lines of the queue. `lines` shrinks as they are delivered. */
export interface Chunk {
    lines: string[];
    readonly taken: number;
    readonly end: number;
    readonly segment: Segment;
}

let lastStart = 0;

/** The time in µs, never the same twice in a thread. */
function newStart(): string {
    lastStart = Math.max(lastStart + 1, Date.now() * 1000 + Math.floor(Math.random() * 1000));
    return String(lastStart).padStart(16, "0");
}

/** The queue in a folder, which several processes may use, or in memory alone. */
export class Spool {
    /** Reports that a full queue has cost. */
    lost = 0;
    /** When the oldest of those that wait came, by performance.now(). */
    since = Infinity;
    private segments: Segment[] = []; // oldest first
    private active: Segment | undefined; // the one that is written to: the last
    private readonly segmentBytes: number;
    private readonly start = newStart();
    private number = 0;
    private diskAgain = 0;
    private diskRefuses = false;

    constructor(
        private readonly folder: string | undefined,
        private readonly name: string,
        private readonly maxBytes: number,
        private readonly warn: Warn,
    ) {
        this.segmentBytes = Math.min(SEGMENT_MAX_BYTES, Math.max(1, maxBytes / SEGMENTS));
        if (folder === undefined) this.diskAgain = Infinity;
        this.adopt();
    }

    /** How many reports wait. */
    get waiting(): number {
        return this.segments.reduce((sum, segment) => sum + segment.lines, 0);
    }

    /** Adds a report; returns how many wait. Never throws: one that finds no room is lost. */
    append(line: string): number {
        const bytes = Buffer.from(line + "\n");
        if (bytes.length > this.maxBytes) {
            this.lost++; // it alone: to make room for it would cost all others
            return this.waiting;
        }
        this.makeRoom(bytes.length);
        try {
            this.segmentToWrite().write(bytes);
        } catch (error) {
            this.diskRefused(error);
            this.segmentToWrite().write(bytes);
        }
        this.since = Math.min(this.since, performance.now());
        return this.waiting;
    }

    private segmentToWrite(): Segment {
        const disk = performance.now() >= this.diskAgain;
        if (this.active && this.active.size < this.segmentBytes && this.isGood(this.active, disk)) {
            return this.active;
        }
        const made = disk ? this.create() : new MemorySegment();
        this.active = made;
        this.segments.push(made);
        if (this.diskRefuses && disk) {
            this.diskRefuses = false;
            this.warn("the disk takes reports again");
        }
        return made;
    }

    /** Whether the active segment can take more. */
    private isGood(segment: Segment, disk: boolean): boolean {
        if (!(segment instanceof FileSegment)) return !disk;
        // after a long pause, another machine may have taken the file for one that was left
        return Date.now() - segment.touchedAt < STALE_MS / 2 || fs.existsSync(segment.path);
    }

    private diskRefused(error: unknown): void {
        if (!this.diskRefuses) {
            this.warn(`${String(error)}: reports are kept in memory: a crash loses them`);
        }
        this.diskRefuses = true;
        this.diskAgain = performance.now() + DISK_AGAIN_MS;
        this.active = undefined;
    }

    private pathOf(start: string, owner: string, number: string): string {
        return join(this.folder!, `${this.name}-${start}-${owner}-${number}.jsonl`);
    }

    private create(): FileSegment {
        const number = String(++this.number).padStart(6, "0");
        return FileSegment.create(this.pathOf(this.start, OWNER, number));
    }

    private makeRoom(size: number): void {
        let total = this.segments.reduce((sum, segment) => sum + segment.size, 0);
        while (this.segments.length > 0 && total + size > this.maxBytes) {
            const segment = this.segments.shift()!;
            total -= segment.size;
            this.lost += segment.lines;
            this.discard(segment);
        }
    }

    /** Ends a segment that is not in the queue any more. */
    private discard(segment: Segment): void {
        if (segment === this.active) this.active = undefined;
        attempt(() => segment.remove(), undefined);
    }

    /** The oldest reports that are not committed, at least one; undefined: nothing waits. */
    read(maxLines: number, maxBytes: number): Chunk | undefined {
        for (;;) {
            const segment = this.segments[0];
            if (segment === undefined) return undefined;
            const found = this.linesOf(segment, maxLines, maxBytes);
            const taken = found?.lines.length ?? 0;
            if (found && taken > 0) return { ...found, taken, segment };
            if (found && segment === this.active) return undefined;
            this.segments.shift(); // the torn end of a file left behind by a crash
            if (found) this.discard(segment);
        }
    }

    /** Undefined: the disk does not give them. The file stays, and its reports count as lost. */
    private linesOf(segment: Segment, maxLines: number, maxBytes: number) {
        try {
            return linesOf(segment, maxLines, maxBytes);
        } catch (error) {
            this.warn(`${String(error)}: ${segment.lines} reports cannot be read`);
            this.lost += segment.lines;
            if (segment === this.active) this.active = undefined;
            return undefined;
        }
    }

    /** Forgets the reports of `chunk`. */
    commit(chunk: Chunk): void {
        const { segment } = chunk;
        if (!this.segments.includes(segment)) return; // dropped meanwhile
        segment.done = chunk.end;
        segment.lines -= chunk.taken;
        if (segment.done >= segment.size) this.emptied(segment);
        this.since = this.waiting ? performance.now() : Infinity;
    }

    private emptied(segment: Segment): void {
        const goesOn = segment === this.active && segment instanceof FileSegment;
        if (goesOn && attempt(() => (segment.clear(), true), false)) return;
        this.segments.splice(this.segments.indexOf(segment), 1);
        this.discard(segment);
    }

    /** Takes over the files of threads that have died, and shows that this one has not. */
    adopt(): void {
        if (this.folder === undefined) return;
        for (const segment of this.segments) {
            if (segment instanceof FileSegment) attempt(() => segment.touch(), undefined);
        }
        const left = this.leftBehind();
        if (left.length === 0) return;
        // one at a time, so that the files of one thread stay together
        const unlock = attempt(() => takeLock(join(this.folder!, `${this.name}.lock`)), undefined);
        if (unlock === undefined) return;
        const found = this.leftBehind().flatMap((names) => this.takeOver(names));
        unlock();
        this.segments.unshift(...found);
        if (found.length > 0) this.since = 0;
    }

    /** The names of files of dead threads, by thread, oldest first. */
    private leftBehind(): string[][] {
        const groups = new Map<string, string[]>();
        for (const name of attempt(() => fs.readdirSync(this.folder!), []).sort()) {
            const [, queue, start = "", owner = ""] = NAME.exec(name) ?? [];
            if (queue !== this.name || owner === OWNER) continue;
            if (isOwned(owner, join(this.folder!, name))) continue;
            const key = `${start} ${owner}`;
            groups.set(key, [...(groups.get(key) ?? []), name]);
        }
        return [...groups.values()];
    }

    /** All files of a dead thread, or none: one may belong to another user. */
    private takeOver(names: string[]): Segment[] {
        const taken: FileSegment[] = [];
        try {
            for (const name of names) taken.push(FileSegment.open(join(this.folder!, name)));
            for (const [at, segment] of taken.entries()) segment.rename(this.ours(names[at]!));
        } catch {
            for (const segment of taken) attempt(() => segment.release(), undefined);
            return [];
        }
        for (const segment of taken) if (segment.lines === 0) this.discard(segment);
        return taken.filter((segment) => segment.lines > 0);
    }

    /** The name of an adopted file: in its place before this thread's own, and of no other. */
    private ours(name: string): string {
        const [, , start = "", , number = ""] = NAME.exec(name)!;
        for (let at = Number(start); ; at++) {
            const path = this.pathOf(String(at).padStart(16, "0"), OWNER, number);
            if (!fs.existsSync(path)) return path;
        }
    }

    /** Gives the files up; those with reports stay for the next process. Never throws. */
    close(): void {
        for (const segment of this.segments) {
            if (segment.lines === 0) this.discard(segment);
            else if (segment instanceof FileSegment) this.leave(segment);
            else this.save(segment);
        }
        this.segments = [];
        this.active = undefined;
    }

    private leave(segment: FileSegment): void {
        attempt(() => segment.rename(segment.path.replace(OWNER, NO_OWNER)), undefined);
        attempt(() => segment.release(), undefined);
    }

    /** A last attempt to bring what is in memory to the disk. */
    private save(segment: Segment): void {
        try {
            if (this.folder === undefined) throw new Error("no folder to write to");
            const file = this.create();
            file.write(segment.read(segment.size));
            this.leave(file);
        } catch (error) {
            this.warn(`${String(error)}: ${segment.lines} reports in memory are lost`);
        }
    }
}
