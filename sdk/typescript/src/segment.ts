// One segment of the spool: lines of reports in a file, or in memory. It goes as a whole.

import * as fs from "node:fs";

/** Its first `done` bytes are committed. */
export abstract class Segment {
    size = 0;
    done = 0;
    lines = 0;

    /** Adds a line, whole or not at all. */
    write(bytes: Buffer): void {
        this.put(bytes);
        this.size += bytes.length;
        this.lines++;
    }

    clear(): void {
        this.truncate();
        this.size = this.done = this.lines = 0;
    }

    /** Up to `size` bytes that are not committed. */
    abstract read(size: number): Buffer;
    abstract remove(): void;
    protected abstract put(bytes: Buffer): void;
    protected abstract truncate(): void;
}

export class FileSegment extends Segment {
    touchedAt = Date.now();

    private constructor(
        public path: string,
        private readonly file: number,
    ) {
        super();
    }

    static create(path: string): FileSegment {
        return new FileSegment(path, fs.openSync(path, "ax+", 0o600));
    }

    /** A file that is there, with its lines counted. */
    static open(path: string): FileSegment {
        const segment = new FileSegment(path, fs.openSync(path, "r+"));
        try {
            const data = fs.readFileSync(segment.file);
            segment.size = data.length;
            for (const byte of data) if (byte === NEWLINE) segment.lines++;
        } catch (error) {
            segment.release();
            throw error;
        }
        return segment;
    }

    protected put(bytes: Buffer): void {
        const written = fs.writeSync(this.file, bytes);
        this.touchedAt = Date.now();
        if (written === bytes.length) return;
        fs.ftruncateSync(this.file, this.size);
        throw new Error("the disk took a part of a line only");
    }

    read(size: number): Buffer {
        const data = Buffer.alloc(Math.min(size, this.size - this.done));
        return data.subarray(0, fs.readSync(this.file, data, 0, data.length, this.done));
    }

    protected truncate(): void {
        fs.ftruncateSync(this.file, 0);
    }

    /** Shows that its owner runs. */
    touch(): void {
        const time = new Date();
        fs.futimesSync(this.file, time, time);
        this.touchedAt = Date.now();
    }

    rename(path: string): void {
        fs.renameSync(this.path, path);
        this.path = path;
    }

    release(): void {
        fs.closeSync(this.file);
    }

    remove(): void {
        this.release();
        fs.rmSync(this.path, { force: true });
    }
}

export class MemorySegment extends Segment {
    private bytes = Buffer.alloc(4096);

    protected put(bytes: Buffer): void {
        if (this.size + bytes.length > this.bytes.length) {
            const larger = Buffer.alloc(2 * (this.size + bytes.length));
            this.bytes.copy(larger, 0, 0, this.size);
            this.bytes = larger;
        }
        bytes.copy(this.bytes, this.size);
    }

    read(size: number): Buffer {
        return this.bytes.subarray(this.done, Math.min(this.size, this.done + size));
    }

    protected truncate(): void {}
    remove(): void {}
}

const NEWLINE = 10;

/** Whole lines of the segment from `done` on, and where they end; at least one if there is one. */
export function linesOf(
    segment: Segment,
    maxLines: number,
    maxBytes: number,
): { lines: string[]; end: number } {
    let data: Buffer;
    for (let size = maxBytes; ; size *= 2) {
        data = segment.read(size);
        if (data.includes(NEWLINE) || data.length < size) break;
    }
    const lines: string[] = [];
    let start = 0;
    while (lines.length < maxLines) {
        const end = data.indexOf(NEWLINE, start);
        if (end < 0) break;
        lines.push(data.toString("utf8", start, end));
        start = end + 1;
    }
    return { lines, end: segment.done + start };
}
