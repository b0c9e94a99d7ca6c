// What every page is given.

export interface PageProps {
    slug: string; // of the tenant; empty on pages of the platform
    params: Record<string, string>; // the :names of its path
    query: URLSearchParams;
}
