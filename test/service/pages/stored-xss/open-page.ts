import type { Page } from 'playwright';
import { expect } from 'vitest';

/**
 * Opens a page, and all that is folded in it but the JSON of a whole result. Returns its texts, and those of its fields.
 * A new document each time: what is seen belongs to no page before it.
 */
export async function openPage(page: Page, address: string): Promise<string> {
  await page.goto(address);
  const isLoaded = () =>
    expect
      .poll(
        () =>
          page.evaluate(
            "document.querySelector('main h1, main h2') !== null && document.querySelector('main .loading') === null",
          ),
        { timeout: 60_000, message: `${address} is loaded` },
      )
      .toBe(true);
  await isLoaded();
  await page.evaluate("for (const one of document.querySelectorAll('details:not(.card)')) one.open = true");
  await isLoaded();
  return textsOf(page);
}

/** The texts of a page and of its fields. */
export const textsOf = (page: Page): Promise<string> =>
  page.evaluate<string>(
    `document.body.innerText + [...document.querySelectorAll('input, textarea, option')].map(({ value, text }) => value + ' ' + (text ?? '')).join('\\n')`,
  );
