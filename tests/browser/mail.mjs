// A mail server on loopback that keeps what it was sent: as much SMTP as a sender needs.

import { createServer } from "node:net";
import { createInterface } from "node:readline";

export class MailServer {
    static async start() {
        const mail = new MailServer();
        mail.texts = [];
        mail.waiting = [];
        mail.server = createServer((socket) => mail.talk(socket));
        await new Promise((resolve) => mail.server.listen(0, "127.0.0.1", resolve));
        mail.url = `smtp://127.0.0.1:${mail.server.address().port}`;
        return mail;
    }

    talk(socket) {
        let lines = null; // of a mail
        const say = (line) => socket.write(`${line}\r\n`);
        socket.on("error", () => {});
        say("220 mail.example.com");
        createInterface({ input: socket }).on("line", (line) => {
            if (lines === null && line.toUpperCase().startsWith("DATA")) {
                lines = [];
                say("354 go on");
            } else if (lines === null) {
                say(line.toUpperCase().startsWith("QUIT") ? "221 bye" : "250 well");
            } else if (line === ".") {
                const body = lines.slice(lines.indexOf("") + 1).join("");
                this.texts.push(Buffer.from(body, "base64").toString());
                this.waiting.shift()?.();
                lines = null;
                say("250 taken");
            } else {
                lines.push(line);
            }
        });
    }

    /** The text of the next mail. */
    async next() {
        while (this.texts.length === 0) await new Promise((done) => this.waiting.push(done));
        return this.texts.shift();
    }

    stop() {
        this.server.close();
    }
}
