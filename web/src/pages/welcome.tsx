// The start page of a person without a workspace.

import { FirstTenant } from "../features/access/first_tenant";
import { isPlatformAdmin, type Me } from "../features/access/session";
import { Heading } from "../ui";

export function Welcome({ me }: { me: Me }) {
    if (isPlatformAdmin(me)) return <FirstTenant />;
    return (
        <>
            <Heading title="No workspace yet" />
            <p>Ask an admin of the workspace you need to add {me.email}.</p>
        </>
    );
}
