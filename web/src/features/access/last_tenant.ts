// The tenant somebody looked at last.

const KEY = "muster.tenant";

export const rememberedTenant = () => localStorage.getItem(KEY);
export const rememberTenant = (slug: string) => localStorage.setItem(KEY, slug);
