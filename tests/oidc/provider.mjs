// A real OpenID provider on loopback, for tests: oidc-provider with its own sign-in pages.
//   node tests/oidc/provider.mjs REDIRECT_URI
// Prints its issuer once it listens. POST /test/set changes it while it runs:
//   people      {"sub": {claims}} of those who can sign in, with any password
//   alg         RS256 or ES256
//   in_token    true: claims are in the ID token, and UserInfo is not needed
//   new_keys    true: replaces its keys, and with them everything that was begun; "same ids": and not their ids
//   tamper      "none", "signature", "replay": damages the ID tokens that it sends
//   down        true: answers 503 to everything, false: answers again; "hang": answers nothing until then
//   auth        client_secret_basic, client_secret_post or none: how the client shows its secret
// GET /test/seen answers what it was asked: {"paths": {path: n}, "challenges": n}.

import { generateKeyPairSync } from "node:crypto";
import { createServer } from "node:http";

import Provider from "oidc-provider";

const CLIENT = { id: "muster", secret: "a secret with : and / in it" };
const [redirectUri] = process.argv.slice(2);
const wishes = { people: {}, alg: "RS256", in_token: false, auth: "client_secret_basic" };
const seen = { paths: {}, challenges: 0 };
const hung = []; // answers that were not given
let issuer, keys, current, lastToken;

function makeKeys(old) {
    const pairs = [
        ["RS256", generateKeyPairSync("rsa", { modulusLength: 2048 })],
        ["ES256", generateKeyPairSync("ec", { namedCurve: "P-256" })],
    ];
    return pairs.map(([alg, pair], i) => ({
        ...pair.privateKey.export({ format: "jwk" }),
        use: "sig",
        alg,
        kid: old?.[i].kid ?? `${alg}-${Math.random().toString(36).slice(2)}`,
    }));
}

/** What a token looks like once someone on the way has changed it. */
function tampered(token) {
    const [header, claims, signature] = token.split(".");
    const replayed = lastToken;
    lastToken = token;
    switch (wishes.tamper) {
        case "none": {
            const none = { ...JSON.parse(Buffer.from(header, "base64url")), alg: "none" };
            return `${Buffer.from(JSON.stringify(none)).toString("base64url")}.${claims}.`;
        }
        case "signature":
            return `${header}.${claims}.${signature[0] === "A" ? "B" : "A"}${signature.slice(1)}`;
        case "replay":
            return replayed;
        default:
            return token;
    }
}

function build() {
    const provider = new Provider(issuer, {
        clients: [
            {
                client_id: CLIENT.id,
                ...(wishes.auth !== "none" && { client_secret: CLIENT.secret }),
                redirect_uris: [redirectUri],
                response_types: ["code"],
                grant_types: ["authorization_code"],
                id_token_signed_response_alg: wishes.alg,
                token_endpoint_auth_method: wishes.auth,
            },
        ],
        clientAuthMethods: [wishes.auth],
        jwks: { keys },
        claims: { openid: ["sub"], email: ["email", "email_verified"], groups: ["groups"] },
        scopes: ["openid", "email", "groups"],
        conformIdTokenClaims: !wishes.in_token,
        pkce: { required: () => true, methods: ["S256"] },
        cookies: { keys: ["of a test"] },
        features: { devInteractions: { enabled: true } },
        findAccount: (ctx, sub) =>
            wishes.people[sub] && {
                accountId: sub,
                claims: async () => ({ sub, ...wishes.people[sub] }),
            },
    });
    provider.use(async (ctx, next) => {
        if (ctx.query.code_challenge_method === "S256") seen.challenges++;
        await next();
        if (ctx.path === "/token" && ctx.body?.id_token)
            ctx.body.id_token = tampered(ctx.body.id_token);
    });
    return provider.callback();
}

async function control(request, response) {
    const parts = [];
    for await (const part of request) parts.push(part);
    if (request.url === "/test/set") {
        const given = JSON.parse(Buffer.concat(parts));
        Object.assign(wishes, given);
        if (wishes.down !== "hang") hung.splice(0).forEach((one) => one.writeHead(503).end());
        if (given.new_keys) keys = makeKeys(given.new_keys === "same ids" ? keys : undefined);
        if (["alg", "in_token", "new_keys", "auth"].some((one) => one in given)) current = build();
    }
    response.setHeader("Content-Type", "application/json");
    response.end(JSON.stringify(seen));
}

const server = createServer((request, response) => {
    if (request.url.startsWith("/test/")) return void control(request, response);
    const path = request.url.split("?")[0];
    seen.paths[path] = (seen.paths[path] ?? 0) + 1;
    if (wishes.down === "hang") return void hung.push(response);
    if (wishes.down) return void response.writeHead(503).end();
    return void current(request, response);
});
server.listen(0, "127.0.0.1", () => {
    issuer = `http://127.0.0.1:${server.address().port}`;
    keys = makeKeys();
    current = build();
    console.log(`issuer ${issuer}`);
});
process.stdin.resume(); // ends with the process that started it
process.stdin.on("end", () => process.exit(0));
