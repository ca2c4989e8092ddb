import type { Row } from './row.ts';

/** When a run is too slow, or loses too many packets. */

export const limitRows = (limits: { degraded: number; max: number; maximum: number }): readonly Row[] => [
  {
    path: 'degradedResponseTime',
    label: 'Degraded from',
    kind: 'number',
    unit: 'ms',
    min: 0,
    max: limits.maximum,
    empty: null,
    default: limits.degraded,
    hint: 'Empty = no limit.',
  },
  {
    path: 'maxResponseTime',
    label: 'Failed from',
    kind: 'number',
    unit: 'ms',
    min: 0,
    max: limits.maximum,
    empty: null,
    default: limits.max,
    hint: 'Empty = no limit.',
  },
];

export const packetLossRows: readonly Row[] = [
  {
    path: 'degradedPacketLossThreshold',
    label: 'Degraded from lost packets',
    kind: 'number',
    unit: '%',
    min: 0,
    max: 100,
    default: 10,
  },
  {
    path: 'maxPacketLossThreshold',
    label: 'Failed from lost packets',
    kind: 'number',
    unit: '%',
    min: 0,
    max: 100,
    default: 20,
  },
];
