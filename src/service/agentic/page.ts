/**
 * The actions of an agent on a page. The page is in another process; each call rejects when the page does not allow
 * it.
 */
export type Page = {
  /** Resolves when the page is loaded. */
  goto(url: string): Promise<void>;
  /** Clicks the first element that matches. */
  click(selector: string): Promise<void>;
  fill(selector: string, text: string): Promise<void>;
  url(): Promise<string>;
  title(): Promise<string>;
  /** The visible text, at most `max` characters; the rest stays in the browser process. */
  visibleText(max: number): Promise<string>;
  /**
   * The visible page as a JPEG in base64. With `secrets`, all fields, frames and texts that contain a secret are
   * covered.
   */
  screenshot(secrets: readonly string[]): Promise<string>;
};

export const pageCalls = ['goto', 'click', 'fill', 'url', 'title', 'visibleText', 'screenshot'] as const;
export type PageCall = (typeof pageCalls)[number];

/** The first message to the browser process, as one line of JSON. */
export type BrowserRequest =
  | {
      id: number;
      call: 'open';
      /** The browser program, and whether its own sandbox works here. */
      program: string;
      sandbox: boolean;
    }
  | { id: number; call: PageCall; args: readonly (string | number)[] };

export type BrowserAnswer = { id: number; value: string } | { id: number; error: string };

/** Milliseconds for one action on a page, and for the start. */
export const actionMs = 15_000;
export const launchMs = 30_000;
/** Bytes of a screenshot; a larger one is discarded. */
export const maxScreenshotBytes = 2 * 1024 ** 2;

/** Returns the host of a web URL; empty for URLs that need no network, null for other URLs. */
export function hostOf(url: string): string | null {
  if (!URL.canParse(url)) return null;
  const { protocol, hostname } = new URL(url);
  if (protocol === 'data:' || protocol === 'blob:') return '';
  return protocol === 'http:' || protocol === 'https:' ? hostname : null;
}
