// A bounded queue of reports on disk.
//
// 1. A report is in a file when `append` returns, so it survives a crash of the process.
// 2. A report leaves its file only after `commit`, that is, after the service has stored it or has
//    said that it never will. A crash in between sends it again; its `event_id` makes that harmless.
// 3. Each process writes files of its own, which carry its name. A file whose process has died is
//    adopted by the next one, which renames it: of two that try, one succeeds.
// 4. When the queue is full its oldest file is deleted: what happened last matters most, and a run
//    that loses its beginning still shows how it ended. Losses are counted.

import { randomUUID } from "node:crypto";
import * as fs from "node:fs";
import { join } from "node:path";

import { NO_OWNER, OWNER, isOwned } from "./state.js";

const SEGMENTS = 16; // files in a full queue; one of them is what a full queue loses at once
const SEGMENT_MAX_BYTES = 1 << 20;
const NEWLINE = 10;

/** What the sender needs of a queue. */
export interface Queue {
    /** Reports that a full queue or a full disk has cost. */
    lost: number;
    /** How many reports wait. */
    readonly waiting: number;
    /** When the oldest of them came, by performance.now(). */
    readonly since: number;
    append(line: string): number;
    read(maxLines: number, maxBytes: number): Chunk | undefined;
    commit(chunk: Chunk): void;
    adopt(): void;
    close(): void;
}

/** The oldest lines of the queue. `lines` shrinks as they are delivered. */
export interface Chunk {
    lines: string[];
    readonly taken: number;
    readonly end: number;
    readonly segment?: Segment;
}

/** One file of the queue. Its first `done` bytes are committed. */
interface Segment {
    path: string;
    file: number;
    size: number;
    done: number;
    lines: number;
}

function remove(segment: Segment): void {
    fs.closeSync(segment.file);
    fs.rmSync(segment.path, { force: true });
}

/** The queue in a folder; several processes may use the same folder. */
export class Spool implements Queue {
    lost = 0;
    since = Infinity;
    private segments: Segment[] = []; // oldest first
    private active: Segment | undefined; // the one that is written to: the last
    private readonly segmentBytes: number;

    constructor(
        private readonly folder: string,
        private readonly name: string,
        private readonly maxBytes: number,
    ) {
        this.segmentBytes = Math.min(
            SEGMENT_MAX_BYTES,
            Math.max(1, Math.floor(maxBytes / SEGMENTS)),
        );
        this.adopt();
    }

    get waiting(): number {
        return this.segments.reduce((sum, segment) => sum + segment.lines, 0);
    }

    /** Adds a report; returns how many wait. Never throws: a report without room is lost. */
    append(line: string): number {
        const bytes = Buffer.from(line + "\n");
        this.makeRoom(bytes.length);
        for (;;) {
            try {
                this.write(bytes);
                break;
            } catch {
                if (this.segments.length < 2) {
                    this.lost++;
                    break;
                }
                this.dropOldest(); // the disk is full: older reports make room
            }
        }
        this.since = Math.min(this.since, performance.now());
        return this.waiting;
    }

    private write(bytes: Buffer): void {
        let segment = this.active;
        if (segment === undefined || segment.size >= this.segmentBytes) {
            segment = this.active = this.create();
            this.segments.push(segment);
        }
        const written = fs.writeSync(segment.file, bytes);
        if (written !== bytes.length) {
            fs.ftruncateSync(segment.file, segment.size);
            throw new Error("short write");
        }
        segment.size += written;
        segment.lines++;
    }

    private newPath(owner: string): string {
        return join(this.folder, `${this.name}-${owner}-${randomUUID()}.jsonl`);
    }

    private create(): Segment {
        const path = this.newPath(OWNER);
        return { path, file: fs.openSync(path, "ax+", 0o600), size: 0, done: 0, lines: 0 };
    }

    private makeRoom(size: number): void {
        let total = this.segments.reduce((sum, segment) => sum + segment.size, 0);
        while (this.segments.length > 1 && total + size > this.maxBytes) {
            total -= this.segments[0]!.size;
            this.dropOldest();
        }
    }

    private dropOldest(): void {
        const segment = this.segments.shift()!;
        this.lost += segment.lines;
        remove(segment);
    }

    /** The oldest reports that are not committed, at least one; undefined: nothing waits. */
    read(maxLines: number, maxBytes: number): Chunk | undefined {
        for (;;) {
            const segment = this.segments[0];
            if (segment === undefined) return undefined;
            const chunk = this.chunkOf(segment, maxLines, maxBytes);
            if (chunk || segment === this.active) return chunk;
            this.segments.shift(); // the torn end of a file left behind by a crash
            remove(segment);
        }
    }

    private chunkOf(segment: Segment, maxLines: number, maxBytes: number): Chunk | undefined {
        let data: Buffer;
        for (let size = maxBytes; ; size *= 2) {
            data = Buffer.alloc(Math.min(size, segment.size - segment.done));
            data = data.subarray(0, fs.readSync(segment.file, data, 0, data.length, segment.done));
            if (data.includes(NEWLINE) || data.length < size) break;
        }
        const lines: string[] = [];
        let start = 0;
        for (let end = 0; lines.length < maxLines; start = end + 1) {
            end = data.indexOf(NEWLINE, start);
            if (end < 0) break;
            lines.push(data.toString("utf8", start, end));
        }
        if (lines.length === 0) return undefined;
        return { lines, taken: lines.length, end: segment.done + start, segment };
    }

    /** Forgets the reports of `chunk`. */
    commit(chunk: Chunk): void {
        const segment = chunk.segment;
        if (segment === undefined || !this.segments.includes(segment)) return; // dropped meanwhile
        segment.done = chunk.end;
        segment.lines -= chunk.taken;
        if (segment.done >= segment.size) {
            if (segment === this.active) {
                fs.ftruncateSync(segment.file, 0);
                segment.size = segment.done = segment.lines = 0;
            } else {
                this.segments.splice(this.segments.indexOf(segment), 1);
                remove(segment);
            }
        }
        this.since = this.waiting ? performance.now() : Infinity;
    }

    /** Takes over the files of processes that have died, and shows that this one has not. */
    adopt(): void {
        const time = new Date();
        for (const { file } of this.segments) fs.futimesSync(file, time, time);
        for (const name of this.names()) {
            const [prefix, owner] = name.split("-");
            const path = join(this.folder, name);
            if (prefix !== this.name || owner === undefined || owner === OWNER) continue;
            if (!name.endsWith(".jsonl") || isOwned(owner, path)) continue;
            const segment = this.takeOver(path);
            if (segment === undefined) continue;
            this.segments.unshift(segment);
            this.since = 0;
        }
    }

    private names(): string[] {
        try {
            return fs.readdirSync(this.folder).sort();
        } catch {
            return []; // the folder was removed: there is nothing to adopt
        }
    }

    private takeOver(path: string): Segment | undefined {
        const mine = this.newPath(OWNER);
        try {
            fs.renameSync(path, mine);
        } catch {
            return undefined; // another process was first
        }
        const data = fs.readFileSync(mine);
        let lines = 0;
        for (const byte of data) if (byte === NEWLINE) lines++;
        const file = fs.openSync(mine, "r+");
        const segment = { path: mine, file, size: data.length, done: 0, lines };
        if (lines > 0) return segment;
        remove(segment);
        return undefined;
    }

    /** Gives the files up; those with reports stay for the next process. */
    close(): void {
        for (const segment of this.segments) {
            if (segment.lines === 0) {
                remove(segment);
                continue;
            }
            fs.closeSync(segment.file);
            try {
                fs.renameSync(segment.path, this.newPath(NO_OWNER));
            } catch {
                // the folder was removed
            }
        }
        this.segments = [];
        this.active = undefined;
    }
}

/** The same without a disk, for an agent that may not write anywhere: a crash loses it. */
export class MemorySpool implements Queue {
    lost = 0;
    since = Infinity;
    private lines: string[] = [];
    private size = 0;
    private out = 0; // how many of the oldest lines are out in a chunk

    constructor(private readonly maxBytes: number) {}

    get waiting(): number {
        return this.lines.length;
    }

    append(line: string): number {
        while (this.lines.length > 0 && this.size + line.length > this.maxBytes) {
            this.size -= this.lines.shift()!.length;
            this.out = Math.max(0, this.out - 1);
            this.lost++;
        }
        this.lines.push(line);
        this.size += line.length;
        this.since = Math.min(this.since, performance.now());
        return this.lines.length;
    }

    read(maxLines: number, maxBytes: number): Chunk | undefined {
        const lines: string[] = [];
        let left = maxBytes;
        for (const line of this.lines) {
            if (lines.length === maxLines || (lines.length > 0 && left < line.length)) break;
            lines.push(line);
            left -= line.length;
        }
        this.out = lines.length;
        return lines.length > 0 ? { lines, taken: lines.length, end: 0 } : undefined;
    }

    commit(): void {
        for (const line of this.lines.splice(0, this.out)) this.size -= line.length;
        this.out = 0;
        this.since = this.lines.length > 0 ? performance.now() : Infinity;
    }

    adopt(): void {}

    close(): void {}
}
