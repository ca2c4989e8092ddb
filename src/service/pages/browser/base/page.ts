import type { ComponentType } from 'preact';

/** What a page gets: the parts of its address. */
export type PageProps = { readonly params: { readonly [name: string]: string } };

/** A module with a page; see page-table.ts. */
export type PageModule = {
  readonly Page: ComponentType<PageProps>;
  /** Begins to read the first data of the page, while the user is read; see `begin` in service.ts. */
  readonly early?: (params: PageProps['params'], query: URLSearchParams) => void;
};
