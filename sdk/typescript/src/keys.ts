// The agent's key, and its rotation.
//
// A rotation must never leave the agent without a key that works, whenever it is interrupted:
//
// 1. Before the service is asked, the file says that a rotation is under way, and room for the new
//    key is reserved. When the disk refuses this, there is no rotation.
// 2. The new key is durable on disk before it is used. Until then the old one is in use, which the
//    service accepts for five more minutes.
// 3. A rotation that did not end, because the answer was lost or the process died, is done again at
//    once with the old key, by this process or the next; the service replaces the successor that
//    was never used.
// 4. A file that can only be read is read: its key may be the only one that is left.
//
// The file also remembers which given key it grew from: a key from the environment that was rotated
// away leads to its successor, and a key that is new to the file takes precedence over it.

import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";

import { MusterError } from "./errors.js";
import { replaceDurably, reserve, takeLock, writeDurably, type State } from "./state.js";

const FILE_BYTES = 1024; // a record is padded to this, so that the reserved room always suffices

interface KeyRecord {
    origin: string;
    token: string;
    previous: string | null;
    rotating: boolean;
}

const digest = (token: string): string => createHash("sha256").update(token).digest("hex");

/** The key in use. Processes that share the folder share its rotations. */
export class KeyRing {
    token: string;
    /** A rotation was interrupted: rotate again. */
    unfinished = false;
    readonly path: string | undefined;
    readonly canRotate: boolean;
    private refused: string | undefined; // a key in the file that the service did not accept

    constructor(
        private readonly given: string,
        state: State | undefined,
    ) {
        this.token = given;
        this.path = state && join(state.folder, "key.json");
        this.canRotate = state?.writable ?? false;
        this.reload();
    }

    /** What the file says, if it speaks of the given key or its successors. */
    private record(): KeyRecord | undefined {
        if (this.path === undefined) return undefined;
        try {
            const record = JSON.parse(readFileSync(this.path, "utf8")) as KeyRecord;
            const known = [record.token, record.previous].includes(this.given);
            const usable = typeof record.token === "string" && record.token !== "";
            return usable && (known || record.origin === digest(this.given)) ? record : undefined;
        } catch {
            return undefined;
        }
    }

    /** Reads the file again; whether it has a different key than the one in use. */
    reload(): boolean {
        const record = this.record();
        if (record === undefined) return false;
        this.unfinished = record.rotating;
        const changed = record.token !== this.token;
        this.token = record.token;
        return changed;
    }

    /**
     * After the key was refused: tries the one before it, which may still be valid when the key was
     * replaced by a second rotation; whether there is one.
     */
    fallBack(): boolean {
        const record = this.record();
        if (!record?.previous || record.previous === this.token) return false;
        this.refused = this.token;
        this.token = record.previous;
        this.unfinished = true;
        return true;
    }

    /**
     * Replaces the key by what `refresh` (a call to the service, with the old key) returns. Whether
     * this process did it: another may be at it, or may have done it already.
     */
    async rotate(refresh: (old: string) => Promise<string>): Promise<boolean> {
        if (this.path === undefined || !this.canRotate) {
            throw new MusterError(
                "a key can only be rotated when the state folder can be written to",
            );
        }
        const unlock = takeLock(join(dirname(this.path), "key.lock"));
        if (unlock === undefined) return false;
        try {
            if (this.doneByAnother()) return false;
            const old = this.token;
            writeDurably(this.path, this.padded(old, null, true));
            const room = reserve(this.path, FILE_BYTES);
            this.unfinished = true; // until the new key is on disk: the answer may get lost
            const fresh = await refresh(old);
            replaceDurably(room, this.path, this.padded(fresh, old, false));
            this.token = fresh;
            this.unfinished = false;
            return true;
        } finally {
            unlock();
        }
    }

    private doneByAnother(): boolean {
        const record = this.record();
        if (record === undefined || [this.token, this.refused].includes(record.token)) return false;
        return this.reload();
    }

    private padded(token: string, previous: string | null, rotating: boolean): Buffer {
        const record: KeyRecord = { origin: digest(this.given), token, previous, rotating };
        return Buffer.from(JSON.stringify(record).padEnd(FILE_BYTES));
    }
}
