/** What a simulated agent that holds checks says in its hello. */
export const holdingHello = ({ instanceId, slots }: { instanceId: string; slots: number }) => ({
  instanceId,
  version: '1.0.0',
  protocolMinor: 7,
  host: { hostname: 'h', platform: 'linux', arch: 'x64', nodeVersion: 'v20', cores: 1, memoryBytes: 1 },
  runtimes: [],
  checkTypes: ['URL', 'API', 'TCP', 'DNS', 'ICMP'],
  lanes: { uptime: slots },
  keeping: {},
});
