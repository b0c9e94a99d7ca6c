// `make demo`, started by a test: its addresses, and an account.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";

import { BINARY, Clock, HOOKS, openPage, sessionOf } from "./muster.mjs";
import { ROOT } from "./root.mjs";

const DEMO = join(ROOT, "demo");
/** The demo by the clock of its service, which tests move: else it goes by the machine's. */
export const BY_TEST_CLOCK = join(ROOT, "tests/browser/demo_by_test_clock.py");

export class Demo {
    static async start(program = DEMO) {
        const demo = new Demo();
        demo.clock = new Clock();
        demo.sessions = new Map();
        demo.process = spawn("/usr/bin/python3", ["-B", program, "--binary", BINARY], {
            stdio: ["ignore", "pipe", "inherit"],
            env: { ...process.env, LD_PRELOAD: HOOKS, ...demo.clock.environment },
        });
        const lines = [];
        await new Promise((resolve, reject) => {
            createInterface({ input: demo.process.stdout }).on("line", (line) => {
                lines.push(line);
                if (line.includes("Ctrl-C")) resolve();
            });
            demo.process.once("exit", () => reject(new Error(lines.join("\n"))));
        });
        const text = lines.join("\n");
        [demo.link] = text.match(/http:\S+\/enter\/\S+/); // not the service's: it signs in, once
        demo.url = text.match(/later at\s+(http:\/\/[\d.:]+)\//)[1];
        demo.email = text.match(/E-mail\s+(\S+)/)[1];
        demo.password = text.match(/Password\s+(\S+)/)[1];
        return demo;
    }

    /** A page of its visitor, with the clock of the service. */
    async open(browser, hash, options = {}) {
        const storageState = await sessionOf(this, this.email, this.password);
        const page = await openPage(browser, this, { storageState, ...options });
        await page.addInitScript((ms) => {
            const now = Date.now;
            Date.now = () => now() + ms;
        }, Number(this.clock.us / 1000n));
        await page.goto(`${this.url}/#${hash}`);
        return page;
    }

    async stop() {
        const ended = new Promise((resolve) => this.process.once("exit", resolve));
        this.process.kill("SIGINT");
        assert.equal(await ended, 0, "the demo ends in order");
        this.clock.remove();
    }
}
