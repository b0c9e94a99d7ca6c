"""A mail server on loopback that keeps what it was sent: as much SMTP as a sender needs."""

import queue
import socketserver
import threading
from contextlib import contextmanager

from muster import Clock, running

WAIT_S = 120


class Mail:
    def __init__(self):
        self.sender, self.recipients, self.data, self.commands = None, [], b"", []


class Talk(socketserver.StreamRequestHandler):
    """One connection, with one mail at most."""

    def say(self, line):
        self.wfile.write(line.encode() + b"\r\n")

    def take_data(self, mail):
        self.say("354 go on")
        for line in iter(self.rfile.readline, b""):
            if line == b".\r\n":
                break
            mail.data += line.removeprefix(b".")
        self.server.mails.put(mail)
        self.say("250 taken")

    def handle(self):
        mail = Mail()
        self.say("220 mail.example.com")
        for line in iter(self.rfile.readline, b""):
            command = line.decode().rstrip("\r\n")
            mail.commands.append(command)
            verb = command.split(" ")[0].split(":")[0].upper()
            if verb == "QUIT":
                self.say("221 bye")
                return
            if verb == "DATA":
                self.take_data(mail)
            elif verb == "RCPT":
                mail.recipients.append(command.split(":", 1)[1])
                self.say(self.server.verdict)
            else:
                if verb == "MAIL":
                    mail.sender = command.split(":", 1)[1]
                self.say("250 well")


@contextmanager
def mail_server():
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Talk) as server:
        server.daemon_threads = True
        server.mails, server.verdict = queue.Queue(), "250 well"
        server.url = f"smtp://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


@contextmanager
def running_with_mail(store, folder, *arguments):
    """A mail server, and a server that sends its mail there and follows a clock of its own."""
    clock = Clock(folder)
    with mail_server() as mails:
        arguments = ["--smtp-url", mails.url, "--smtp-from", "muster@example.com",
                     "--public-url", "http://muster.example.com", *arguments]  # fmt: skip
        with running(store, folder, arguments=arguments, environment=clock.environment) as server:
            server.mails, server.clock = mails, clock
            yield server
