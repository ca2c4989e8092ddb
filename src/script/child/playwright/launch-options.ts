/**
 * Reads a property of Playwright's BrowserType that its types omit (`_playwright._defaultLaunchOptions` in
 * playwright-core/lib/client/browserType.js), read from release 1.58.2. test/library-internals/playwright.test.ts fails
 * if a runtime lacks it.
 */

/** Launch settings that can make an otherwise working browser fail. */
const ownSettings = [
  'executablePath',
  'args',
  'env',
  'channel',
  'timeout',
  'ignoreDefaultArgs',
  'chromiumSandbox',
  'devtools',
] as const;
export type LaunchOptions = { headless?: unknown } & { [setting in (typeof ownSettings)[number]]?: unknown };

type WithDefaults = {
  _defaultLaunchOptions?: LaunchOptions;
  _playwright?: { _defaultLaunchOptions?: LaunchOptions };
};

/** Whether a browser launch has the script's own settings, in its call or in `test.use({ launchOptions })`. */
export function hasOwnSettings(browserType: object, options: LaunchOptions | undefined): boolean {
  const all = { ...optionsOfTests(browserType), ...options };
  return all.headless === false || ownSettings.some((name) => all[name] !== undefined);
}

/** The options of `test.use({ launchOptions })`; undefined if a release stores them elsewhere. */
function optionsOfTests(browserType: object): LaunchOptions | undefined {
  const type = browserType as WithDefaults; // feature detection
  return type._playwright?._defaultLaunchOptions ?? type._defaultLaunchOptions;
}
