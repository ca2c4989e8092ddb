import type { ComponentType } from 'preact';

/** What a page gets: the parts of its address. */
export type PageProps = { readonly params: { readonly [name: string]: string } };

/** A module with a page; see page-table.ts. */
export type PageModule = { readonly Page: ComponentType<PageProps> };
