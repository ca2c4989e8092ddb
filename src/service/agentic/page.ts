/** What an agent does with a page; the page itself is in another process. Every call rejects when the page does not allow it. */
export type Page = {
  /** Resolves when the page is loaded. */
  goto(url: string): Promise<void>;
  /** The first element that matches. */
  click(selector: string): Promise<void>;
  fill(selector: string, text: string): Promise<void>;
  url(): Promise<string>;
  title(): Promise<string>;
  /** The text that is seen, of at most `most` characters, which is all that leaves the browser. */
  visibleText(most: number): Promise<string>;
  /** What is seen, as a JPEG in base64. Where there are `secrets`, all fields, pages within the page and whatever text has one of them are covered. */
  screenshot(secrets: readonly string[]): Promise<string>;
};

export const pageCalls = ['goto', 'click', 'fill', 'url', 'title', 'visibleText', 'screenshot'] as const;
export type PageCall = (typeof pageCalls)[number];

/** What the process of the browser is told, one JSON a line. */
export type BrowserRequest =
  | {
      id: number;
      call: 'open';
      /** The browser's program, and whether its own sandbox works here. */
      program: string;
      sandbox: boolean;
    }
  | { id: number; call: PageCall; args: readonly (string | number)[] };

export type BrowserAnswer = { id: number; value: string } | { id: number; error: string };

/** Milliseconds: of one action of a page, and of the start. */
export const actionMs = 15_000;
export const launchMs = 30_000;
/** Bytes of a screenshot; what is larger is none. */
export const mostScreenshot = 2 * 1024 ** 2;

/** Host of a URL of the web; empty for what needs no network, null for what is neither. */
export function hostOf(url: string): string | null {
  if (!URL.canParse(url)) return null;
  const { protocol, hostname } = new URL(url);
  if (protocol === 'data:' || protocol === 'blob:') return '';
  return protocol === 'http:' || protocol === 'https:' ? hostname : null;
}
