// How to connect an agent, and where to read more.

import { ConnectSteps } from "../features/fleet/first_event";
import type { PageProps } from "../lib/page";
import { fleetPath } from "../lib/paths";
import { href } from "../lib/route";
import { Card, Heading } from "../ui";

export default function Connect({ slug }: PageProps) {
    return (
        <>
            <Heading
                parent={{ label: "Fleet", href: href(fleetPath(slug)) }}
                title="Connect an agent"
            />
            <ConnectSteps slug={slug} />
            <Card title="Read more">
                <ul class="plain">
                    <li>
                        <a href="/docs">The API</a>: every route, to try out here.
                    </li>
                    <li>
                        <a href="/api/v1/openapi.json">OpenAPI document</a>: to generate a client.
                    </li>
                    <li>
                        <code>muster help</code>: the command line, and the guides in the folder{" "}
                        <code>docs</code> of the release: writing an agent, operating the service.
                    </li>
                </ul>
            </Card>
        </>
    );
}
