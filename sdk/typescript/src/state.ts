// The folder on disk where an agent keeps what must outlive its process.
//
// It belongs to one agent of one workspace of one service, is readable by its user only, and may
// be used by several processes at once. Node.js has no file locks, so a file names its owner: the
// process id, when that process started, and the machine (or container) that knows it by this id.

import { createHash } from "node:crypto";
import * as fs from "node:fs";
import { homedir, hostname, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { threadId } from "node:worker_threads";

const STALE_MS = 5 * 60_000; // a file of another machine that was not touched for so long is left
const ROOM_STALE_MS = 3_600_000;

export const NO_OWNER = "0.0.0";

function startOf(pid: number): string {
    try {
        const stat = fs.readFileSync(`/proc/${pid}/stat`, "utf8");
        return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19] ?? "0";
    } catch {
        return "0";
    }
}

function machine(): string {
    let space = "";
    try {
        space = fs.readlinkSync("/proc/self/ns/pid");
    } catch {
        // not Linux: the host's name must do
    }
    return createHash("sha256").update(`${hostname()} ${space}`).digest("hex").slice(0, 8);
}

const MACHINE = machine();
/** This process, as it stands in the names of files. */
export const OWNER = `${process.pid}.${startOf(process.pid)}.${MACHINE}`;

/** Whether the process that owns the file still runs. */
export function isOwned(owner: string, path: string): boolean {
    const [pid, start, where] = owner.split(".");
    if (pid === undefined || owner === NO_OWNER) return false;
    if (where !== MACHINE) {
        try {
            return Date.now() - fs.statSync(path).mtimeMs < STALE_MS;
        } catch {
            return false;
        }
    }
    try {
        process.kill(Number(pid), 0);
    } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "EPERM") return false;
    }
    return startOf(Number(pid)) === start;
}

function defaultParent(): string {
    const { MUSTER_STATE_DIR, XDG_STATE_HOME } = process.env;
    if (MUSTER_STATE_DIR) return MUSTER_STATE_DIR;
    if (XDG_STATE_HOME) return join(XDG_STATE_HOME, "muster");
    return join(homedir() || tmpdir(), ".local/state/muster");
}

/** The agent's folder, created when missing; undefined when it cannot be written to. */
export function openState(parent: string | undefined, url: string, tenant: string, agent: string) {
    const digest = createHash("sha256").update(`node\n${url}\n${tenant}\n${agent}`).digest("hex");
    const readable = agent.replace(/[^A-Za-z0-9._-]+/g, "-").slice(0, 40);
    const folder = join(parent ?? defaultParent(), `${readable}-${digest.slice(0, 12)}`);
    try {
        fs.mkdirSync(folder, { recursive: true, mode: 0o700 });
        fs.accessSync(folder, fs.constants.W_OK);
        removeOldRooms(folder);
        return folder;
    } catch {
        return undefined;
    }
}

/** Rooms left by a crash between reserving and replacing. */
function removeOldRooms(folder: string): void {
    for (const name of fs.readdirSync(folder).filter((each) => each.endsWith(".next"))) {
        const path = join(folder, name);
        if (Date.now() - fs.statSync(path).mtimeMs > ROOM_STALE_MS) fs.rmSync(path);
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
export function replaceDurably(room: string, path: string, content: Buffer): void {
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
export function writeDurably(path: string, content: Buffer): void {
    replaceDurably(reserve(path, content.length), path, content);
}

/** Takes the lock file, unless a running process has it; returns how to give it back. */
export function takeLock(path: string): (() => void) | undefined {
    for (let attempt = 0; attempt < 2; attempt++) {
        try {
            fs.writeFileSync(path, OWNER, { flag: "wx", mode: 0o600 });
            return () => fs.rmSync(path, { force: true });
        } catch (error) {
            if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
            if (isOwned(fs.readFileSync(path, "utf8"), path)) return undefined;
            fs.rmSync(path, { force: true }); // its process died
        }
    }
    return undefined;
}
