import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { containerOf, deploymentsOf, envOf, podOf, type Deployment } from '../charts/pods.ts';
import { buildRenderer, canRender, renderAll } from '../charts/renderer.ts';
import { startAgent, type Agent, type Image } from './containers.ts';
import { newLocation, runCheck, told, world } from './world.ts';

/**
 * The images as the chart's pods: with their variables, mounts, sysctls and all that they are not allowed. No Kubernetes: an engine
 * is told the same.
 */

/** No browser, which flags.test.ts starts under the same limits. */
const steps = `
  import { expect, test } from '@playwright/test';
  test('the shop answers', async ({ request }) => {
    expect((await request.get('http://targets/ok')).status()).toBe(200);
  });`;

/** What the kubelet makes of an emptyDir, and of a Secret with mode 0440, for a pod with a group of its own. */
function asVolume(folder: string, mode: number, group: number): string {
  mkdirSync(folder, { recursive: true });
  if (process.getuid?.() === 0) chownSync(folder, 0, group);
  chmodSync(folder, mode);
  return folder;
}

describe.skipIf(!canRender)("the chart's pods", () => {
  const folder = mkdtempSync(join(tmpdir(), 'chart-pods-'));
  const agents: Agent[] = [];
  let deployments: Deployment[] = [];
  beforeAll(async () => {
    await buildRenderer();
    const lanes = { enabled: true };
    const values = {
      serviceUrl: 'http://service:4400',
      apiKey: { existingSecret: 'a' },
      deployments: { all: { enabled: false }, uptime: lanes, browser: lanes, suite: lanes },
    };
    deployments = deploymentsOf(renderAll({ separate: { values } }).separate);
  }, 300_000);
  afterAll(async () => {
    await Promise.all(agents.map((agent) => agent.remove()));
    rmSync(folder, { recursive: true, force: true });
  });

  test('are accepted, and each runs the checks of its lane, read-only and without any right', async () => {
    const { key } = await newLocation('pods');
    const start = async (deployment: Deployment): Promise<Agent> => {
      const pod = podOf(deployment);
      const { securityContext, volumeMounts } = containerOf(deployment);
      const context = pod.securityContext as { fsGroup: number; sysctls: { name: string; value: string }[] }; // the chart's
      expect(securityContext).toMatchObject({
        allowPrivilegeEscalation: false,
        capabilities: { drop: ['ALL'] },
      });
      const own = join(folder, deployment.metadata.name);
      const mounts: { [target: string]: string } = {};
      for (const { name, mountPath } of volumeMounts) {
        if (name === 'data') mounts[mountPath] = asVolume(join(own, name), 0o2777, context.fsGroup);
        if (name !== 'api-key') continue;
        mounts[mountPath] = asVolume(join(own, name), 0o755, 0);
        writeFileSync(join(own, name, 'api-key'), key);
        if (process.getuid?.() === 0) chownSync(join(own, name, 'api-key'), 0, context.fsGroup);
        chmodSync(join(own, name, 'api-key'), process.getuid?.() === 0 ? 0o440 : 0o444);
      }
      const agent = await startAgent({
        image: (deployment.metadata.name.endsWith('-uptime') ? 'uptime' : 'full') satisfies Image,
        network: world.network,
        key: null,
        env: Object.fromEntries(
          Object.entries(envOf(deployment)).map(([name, value]) => [name, value ?? '']),
        ),
        mounts,
        flags: {
          readOnly: true,
          capDropAll: true,
          securityOpt: ['no-new-privileges'],
          sysctls: Object.fromEntries(context.sysctls.map(({ name, value }) => [name, value])),
        },
      });
      agents.push(agent);
      return agent;
    };
    const [browser, suite, uptime] = await Promise.all(deployments.map(start));
    const results = await Promise.all([
      runCheck('url', 'pods', { request: { url: 'http://targets/ok' } }),
      runCheck('icmp', 'pods', { request: { hostname: 'targets', pingCount: 1 } }),
      runCheck('multistep', 'pods', { script: steps }),
    ]);
    for (const result of results)
      expect(result.status, `${result.checkType}: ${told(result)}`).toBe('passed');
    const ran = await Promise.all(
      [uptime, browser, suite].map(async (agent) => agent?.metric('results_total')),
    );
    expect(ran).toEqual([2, 1, 0]);
  });
});
