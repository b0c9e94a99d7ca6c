// The start page of a person without a workspace.

import { FirstTenant } from "../features/access/first_tenant";
import { isPlatformAdmin, type Me } from "../features/access/session";
import { Empty } from "../ui";

export function Welcome({ me }: { me: Me }) {
    if (isPlatformAdmin(me)) return <FirstTenant />;
    return (
        <Empty title="No workspace yet">
            <p>Ask an admin of the workspace you need to add {me.email}.</p>
        </Empty>
    );
}
