import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, BrowserContext, Locator, Page } from 'playwright';
import { expect } from 'vitest';
import { createAgent, type Agent } from '../../../../src/agent/agent.ts';
import { readAgentConfig } from '../../../../src/config.ts';
import { readServiceConfig } from '../../../../src/config/service.ts';
import { startService, type RunningService } from '../../../../src/service/service.ts';
import { silent } from '../../../helpers/service/agent-service.ts';
import { servicePlace } from '../../../helpers/service/database.ts';
import type { Fields } from '../../../helpers/service/service.ts';

/** A service as it is started, its agents, a target, and a person who has only a keyboard. */

export type Journey = {
  service: RunningService;
  url: string;
  apiKey: string;
  /** A call of the public API that is expected to succeed. */
  api: <Body = Fields>(method: string, path: string, body?: unknown) => Promise<Body>;
  startAgent: (locationKey: string) => Promise<Agent>;
  /** A target that answers 200, or 503 while `isDown`. */
  target: { url: string; isDown: boolean };
  close: () => Promise<void>;
};

const apiKey = 'sk_of-a-journey-through-the-pages';

export async function startJourney(): Promise<Journey> {
  const folder = mkdtempSync(join(tmpdir(), 'journey-'));
  const place = await servicePlace();
  const service = await startService({
    config: readServiceConfig({
      SERVICE_PORT: '0',
      SERVICE_RATE_LIMIT: '0',
      SERVICE_PUBLIC_RATE_LIMIT: '0',
      ...place.env,
      SERVICE_API_KEY: apiKey,
    }),
    log: silent,
  });
  const target = { url: '', isDown: false };
  const server = createServer((_request, response) => {
    response.statusCode = target.isDown ? 503 : 200;
    response.end('hello');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  target.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`; // it listens on TCP
  const agents: Agent[] = [];
  return {
    service,
    url: service.url,
    apiKey,
    target,
    api: async <Body = Fields>(method: string, path: string, body?: unknown) => {
      const answer = await fetch(service.url + path, {
        method,
        headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      const text = await answer.text();
      expect(answer.status, `${method} ${path}: ${text}`).toBeLessThan(300);
      return (text === '' ? null : JSON.parse(text)) as Body; // the service's own format
    },
    startAgent: async (locationKey) => {
      const config = readAgentConfig({
        API_KEY: locationKey,
        SERVICE_URL: service.url,
        AGENT_HEALTH_PORT: '0',
        AGENT_DATA_DIR: join(folder, `agent-${agents.length}`),
        AGENT_SHUTDOWN_GRACE_SECONDS: '5',
      });
      const agent = createAgent({ config, log: silent, version: '1.2.3' });
      agents.push(agent);
      await agent.start();
      return agent;
    },
    close: async () => {
      await Promise.all(agents.map((agent) => agent.drain()));
      await service.close();
      server.closeAllConnections();
      server.close();
      rmSync(folder, { recursive: true, force: true });
      await place.remove();
    },
  };
}

/** A browser with a window of this width, and what went wrong in its pages. */
export async function newVisitor(
  browser: Browser,
  width = 1280,
): Promise<{ context: BrowserContext; page: Page; faults: unknown[] }> {
  const context = await browser.newContext({ viewport: { width, height: 800 } });
  const faults: unknown[] = [];
  context.on('weberror', (error) => faults.push(error.error()));
  context.on('console', (message) => {
    if (message.type() === 'error') faults.push(`${message.text()} (${message.location().url})`);
  });
  const page = await context.newPage();
  page.setDefaultTimeout(30_000);
  return { context, page, faults };
}

const mostTabs = 300;

/** What a person does who has no mouse: Tab or Shift and Tab to an element, then keys. */
export function keyboardOf(page: Page) {
  /** Moves the focus to an element as a person does who sees where it is. Fails if Tab does not reach it. */
  async function reach(element: Locator): Promise<void> {
    await element.waitFor();
    /** The key that leads towards the element; null = it has the focus. */
    const next = () =>
      element.evaluate((found) => {
        const focused = found.ownerDocument.activeElement;
        if (focused === found) return null;
        const isBefore = (focused?.compareDocumentPosition(found) ?? 0) & 2; // DOCUMENT_POSITION_PRECEDING
        return isBefore && focused !== found.ownerDocument.body ? 'Shift+Tab' : 'Tab';
      });
    for (let presses = 0; presses < mostTabs; presses += 1) {
      const key = await next();
      if (key === null) return;
      await page.keyboard.press(key);
    }
    throw new Error(`Tab does not reach ${String(element)}`);
  }
  return {
    reach,
    press: async (element: Locator, key = 'Enter') => {
      await reach(element);
      await page.keyboard.press(key);
    },
    type: async (element: Locator, text: string) => {
      await reach(element);
      await page.keyboard.press('ControlOrMeta+a');
      await page.keyboard.type(text);
    },
    /** Opens an area by the navigation, which is behind a button in narrow windows. */
    goTo: async (area: string) => {
      const menu = page.getByRole('button', { name: 'Menu' });
      if (await menu.isVisible()) {
        await reach(menu);
        await page.keyboard.press('Enter');
      }
      await reach(
        page.getByRole('navigation', { name: 'Areas' }).getByRole('link', { name: area, exact: true }),
      );
      await page.keyboard.press('Enter');
    },
  };
}

/** Whether the page is as wide as its window. */
export const fits = async (page: Page): Promise<void> =>
  expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0);
