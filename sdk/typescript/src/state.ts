// The folder on disk where an agent keeps what must outlive its process.
//
// It belongs to one agent of one workspace of one service, is readable by its user only, and may
// be used by several processes and threads at once. A folder that cannot be written to is still
// read. Node.js has no file locks, so a file names its owner: the process id, when it started, the
// machine (or container) that knows it by this id, and the thread.

import { createHash, randomUUID } from "node:crypto";
import * as fs from "node:fs";
import { homedir, hostname, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { threadId } from "node:worker_threads";

import { attempt } from "./values.js";

/** A file of another machine that was not touched for this long is left. */
export const STALE_MS = 5 * 60_000;
const ROOM_STALE_MS = 3_600_000;

export const NO_OWNER = "0.0.0";

/** Where the system tells about this thread. "123/task/125"; empty: not Linux. */
const task = attempt(() => fs.readlinkSync("/proc/thread-self"), "");

/** When a process or thread started; "0": it does not run, or the system does not say. */
function startOf(path: string): string {
    const stat = attempt(() => fs.readFileSync(`/proc/${path}/stat`, "utf8"), "");
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19] ?? "0";
}

function machine(): string {
    // not Linux: the host's name must do
    const space = attempt(() => fs.readlinkSync("/proc/self/ns/pid"), "");
    return createHash("sha256").update(`${hostname()} ${space}`).digest("hex").slice(0, 8);
}

const MACHINE = machine();
const THREAD = task.split("/")[2] ?? `t${threadId}`;
/** This thread, as it stands in the names of files. */
export const OWNER = `${process.pid}.${startOf(task || "self")}.${MACHINE}.${THREAD}`;

/** Whether the thread that owns the file still runs. */
export function isOwned(owner: string, path: string): boolean {
    const [pid, start, where, thread] = owner.split(".");
    if (pid === undefined || owner === NO_OWNER) return false;
    if (where !== MACHINE) {
        return attempt(() => Date.now() - fs.statSync(path).mtimeMs < STALE_MS, false);
    }
    try {
        process.kill(Number(pid), 0);
    } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "EPERM") return false;
    }
    const known = task === "" ? pid : `${pid}/task/${thread}`;
    return startOf(known) === start;
}

export interface State {
    folder: string;
    writable: boolean;
}

function defaultParent(): string {
    const { MUSTER_STATE_DIR, XDG_STATE_HOME } = process.env;
    if (MUSTER_STATE_DIR) return MUSTER_STATE_DIR;
    if (XDG_STATE_HOME) return join(XDG_STATE_HOME, "muster");
    const home = attempt(homedir, ""); // it throws for a user whom the system does not know
    return home ? join(home, ".local/state/muster") : join(tmpdir(), "muster");
}

/** What stays when the same service is written in another way: host, port and path. */
function placeOf(url: string): string {
    const parts = attempt(() => new URL(url), undefined);
    return parts ? parts.host.toLowerCase() + parts.pathname.replace(/\/+$/, "") : url;
}

function folderName(place: string, tenant: string, agent: string): string {
    const digest = createHash("sha256").update(`node\n${place}\n${tenant}\n${agent}`).digest("hex");
    return `${agent.replace(/[^A-Za-z0-9._-]+/g, "-").slice(0, 40)}-${digest.slice(0, 12)}`;
}

/** The agent's folder, created when missing. Never throws. */
export function openState(
    parent: string | undefined,
    url: string,
    tenant: string,
    agent: string,
): State {
    const folder = join(parent ?? defaultParent(), folderName(placeOf(url), tenant, agent));
    try {
        fs.mkdirSync(folder, { recursive: true, mode: 0o700 });
        fs.accessSync(folder, fs.constants.W_OK);
        removeOldRooms(folder);
        return { folder, writable: true };
    } catch {
        return { folder, writable: false };
    }
}

const namesIn = (folder: string): string[] => attempt(() => fs.readdirSync(folder), []);

/** Rooms left by a crash between reserving and replacing. */
function removeOldRooms(folder: string): void {
    for (const name of namesIn(folder).filter((each) => each.endsWith(".next"))) {
        const path = join(folder, name);
        const age = attempt(() => Date.now() - fs.statSync(path).mtimeMs, 0); // another was first
        if (age > ROOM_STALE_MS) attempt(() => fs.rmSync(path), undefined);
    }
}

/** A file beside `path` with room for `size` bytes, so that a later write finds its room. */
export function reserve(path: string, size: number): string {
    const room = `${path}.${process.pid}.${threadId}.next`;
    const file = fs.openSync(room, "w", 0o600);
    try {
        fs.writeSync(file, Buffer.alloc(size));
        fs.fsyncSync(file);
    } finally {
        fs.closeSync(file);
    }
    return room;
}

/** Writes into the reserved room, then puts it in the place of `path`. */
export function replaceDurably(room: string, path: string, content: Uint8Array): void {
    const file = fs.openSync(room, "r+");
    try {
        fs.writeSync(file, content, 0, content.length, 0);
        fs.ftruncateSync(file, content.length);
        fs.fsyncSync(file);
    } finally {
        fs.closeSync(file);
    }
    fs.renameSync(room, path);
    if (process.platform === "win32") return;
    const folder = fs.openSync(dirname(path), "r");
    try {
        fs.fsyncSync(folder);
    } finally {
        fs.closeSync(folder);
    }
}

/** Replaces the file as a whole. When this returns, the content survives a power failure. */
export function writeDurably(path: string, content: Uint8Array): void {
    replaceDurably(reserve(path, content.length), path, content);
}

/** Takes the lock file, unless a running thread has it; returns how to give it back. */
export function takeLock(path: string): (() => void) | undefined {
    for (let attempts = 0; attempts < 2; attempts++) {
        try {
            fs.writeFileSync(path, `${OWNER} ${randomUUID()}`, { flag: "wx", mode: 0o600 });
            return () => attempt(() => fs.rmSync(path, { force: true }), undefined);
        } catch (error) {
            if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
            if (!breakLock(path)) return undefined;
        }
    }
    return undefined;
}

/** Removes the lock of a thread that has died. Of several that try, one may: that of this lock. */
function breakLock(path: string): boolean {
    try {
        const [owner = "", id = "old"] = fs.readFileSync(path, "utf8").split(" ");
        if (isOwned(owner, path)) return false;
        fs.writeFileSync(`${path}.${id}.next`, OWNER, { flag: "wx", mode: 0o600 });
        fs.rmSync(path, { force: true });
        return true;
    } catch {
        return false; // another was first
    }
}
