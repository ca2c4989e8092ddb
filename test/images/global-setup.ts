import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Wait } from 'testcontainers';
import type { TestProject } from 'vitest/node';
import { ImageContainer } from './containers.ts';
import { docker, inspected, makeNetwork } from './engine.ts';
import type { World } from './world.ts';

/** One network with the service and the targets in it, for all files. scripts/test-images.mjs removes them. */
export async function setup({ provide }: TestProject): Promise<() => Promise<void>> {
  const folder = mkdtempSync(join(tmpdir(), 'image-tests-'));
  const network = await makeNetwork('main');
  const apiKey = 'key_of_the_image_tests';
  const [service, targets] = await Promise.all([
    new ImageContainer('full', network)
      .withNetworkAliases('service')
      .withCommand(['service'])
      .withEnvironment({ SERVICE_HOST: '0.0.0.0', SERVICE_API_KEY: apiKey, SERVICE_RATE_LIMIT: '0' })
      .withExposedPorts(4400)
      .withWaitStrategy(Wait.forHttp('/health', 4400))
      .start(),
    new ImageContainer('full', network)
      .withNetworkAliases('targets')
      .withUser('0:0')
      .withEntrypoint(['node', '/opt/targets.mjs'])
      .withCommand([])
      .withCopyFilesToContainer([
        { source: join(import.meta.dirname, 'targets-program.mjs'), target: '/opt/targets.mjs', mode: 0o644 },
      ])
      .withExposedPorts(80)
      .withWaitStrategy(Wait.forLogMessage('targets are ready'))
      .start(),
  ]);
  const { output } = await targets.exec(['cat', '/tmp/authority.pem']);
  const authorityFile = join(folder, 'authority.pem');
  writeFileSync(authorityFile, output);
  const world: World = {
    network,
    serviceUrl: `http://${service.getHost()}:${service.getMappedPort(4400)}`,
    apiKey,
    service: service.getId(),
    targets: targets.getId(),
    targetsUrl: `http://${targets.getHost()}:${targets.getMappedPort(80)}`,
    // testcontainers leaves containers with an alias in the default network, too.
    targetsAddress: await inspected(
      targets.getId(),
      `{{(index .NetworkSettings.Networks "${network}").IPAddress}}`,
    ),
    authorityFile,
  };
  provide('world', world);
  return async () => {
    await docker('rm', '--force', '--volumes', service.getId(), targets.getId());
    await docker('network', 'rm', network).catch(() => undefined);
    rmSync(folder, { recursive: true, force: true });
  };
}
