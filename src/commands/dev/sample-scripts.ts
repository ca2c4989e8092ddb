import { scriptTypes, type ScriptType } from '../../protocol/check-types.ts';
import type { TargetPorts } from '../../targets/targets.ts';
import { sampleTag, type SampleCheck } from './sample-checks.ts';

/**
 * The sample browser and multi-step checks of `dev`, every minute: a visit that passes, one that is marked as degraded,
 * one that fails, and API calls in steps.
 */
export function sampleScripts(ports: TargetPorts, locationSlug: string): SampleCheck[] {
  const shop = `http://127.0.0.1:${ports.http}`;
  const check = (type: ScriptType, name: string, script: string): SampleCheck => ({
    type,
    name,
    body: {
      name,
      tags: [sampleTag],
      privateLocations: [locationSlug],
      frequency: 1,
      doubleCheck: false,
      script: script.trimStart(),
    },
  });
  const samples: { readonly [T in ScriptType]: readonly [name: string, script: string][] } = {
    BROWSER: [
      ['Sample: a customer orders', visit(shop)],
      ['Sample: the shop is slow today', degradedVisit(shop)],
      ['Sample: the gift card is gone', failingVisit(shop)],
    ],
    MULTI_STEP: [['Sample: find and order over the API', calls(shop)]],
  };
  return scriptTypes.flatMap((type) => samples[type].map(([name, text]) => check(type, name, text)));
}

const visit = (shop: string): string => `
import { expect, test } from '@playwright/test';

test('a customer finds an anvil and orders it', async ({ page }) => {
  await page.goto('${shop}/shop');
  await test.step('search', async () => {
    await page.getByLabel('Search').fill('anvil');
    await expect(page.getByRole('listitem')).toHaveCount(1);
  });
  await test.step('order', async () => {
    await page.getByRole('button', { name: 'Add anvil' }).click();
    await page.getByLabel('Email').fill('someone@example.com');
    await page.getByRole('button', { name: 'Order' }).click();
    await expect(page.getByRole('status')).toHaveText('Ordered 1 items');
  });
});
`;

const degradedVisit = (shop: string): string => `
import { markCheckAsDegraded } from '@location-agent/helpers';
import { expect, test } from '@playwright/test';

test('the list is there soon', async ({ page }) => {
  const started = Date.now();
  await page.goto('${shop}/slow?ms=700');
  if (Date.now() - started > 500) markCheckAsDegraded('the first page took more than half a second');
  await page.goto('${shop}/shop');
  await expect(page.getByRole('listitem')).toHaveCount(3);
});
`;

const failingVisit = (shop: string): string => `
import { expect, test } from '@playwright/test';

test('a gift card can be bought', async ({ page }) => {
  await page.goto('${shop}/shop?broken');
  await expect(page.getByRole('button', { name: 'Add gift card' })).toBeVisible({ timeout: 2000 });
});
`;

const calls = (shop: string): string => `
import { expect, test } from '@playwright/test';

test('find and order', async ({ request }) => {
  const product = await test.step('find the lamp', async () => {
    const response = await request.get('${shop}/json');
    expect(response.status()).toBe(200);
    const { items } = await response.json();
    return items.find(({ name }) => name === 'lamp');
  });
  await test.step('order it', async () => {
    const response = await request.post('${shop}/echo', { data: { order: product.id } });
    expect(response).toBeOK();
    expect(JSON.parse((await response.json()).body)).toEqual({ order: 3 });
  });
});
`;
