import Type from 'typebox';
import { StringEnum, IntegerEnum } from '../../../protocol/schema.ts';
import { frequenciesOf } from '../schedule/rules.ts';
import { ignored } from '../../http/fields/ignored-fields.ts';

/** Fields of checks that the service runs itself and agents never get (facts, 2.7, 2.11 and 5.9). */

export const timeUnits = ['seconds', 'minutes', 'hours', 'days'] as const;
export type TimeUnit = (typeof timeUnits)[number];

const doubleCheck = Type.Boolean({
  default: false,
  deprecated: true,
  description: 'Not for this type: it has no retries.',
});

const timing = {
  period: Type.Integer({ minimum: 1, maximum: 31_536_000, description: '30 seconds to 365 days.' }),
  periodUnit: StringEnum(timeUnits),
  grace: Type.Integer({
    minimum: 0,
    maximum: 31_536_000,
    default: 0,
    description: 'How much later than the period a ping may come; 0 to 365 days.',
  }),
  graceUnit: StringEnum(timeUnits, { default: 'seconds' }),
};

const frequency = IntegerEnum(frequenciesOf.HEARTBEAT, {
  default: 10,
  description: 'Stored and returned; has no effect: heartbeat.period decides when a ping is due.',
});

export const heartbeatFields = {
  doubleCheck,
  frequency,
  heartbeat: Type.Object(
    { ...timing, pingToken: ignored, pingUrl: ignored },
    {
      description:
        'When the job that is watched calls the ping URL: it must at least once in period + grace.',
    },
  ),
};

/** The heartbeat as returned. Lists may omit it. */
export const heartbeatStored = {
  heartbeat: Type.Optional(
    Type.Object({
      ...timing,
      pingToken: Type.Optional(
        Type.String({ format: 'uuid', description: 'Not shown to keys with the role READ_ONLY.' }),
      ),
      pingUrl: Type.Optional(
        Type.String({
          description: 'GET, POST or HEAD it: no authentication. Not shown to keys with the role READ_ONLY.',
        }),
      ),
    }),
  ),
};

export const promptLength = 10_000;

export const agenticFields = {
  doubleCheck,
  frequency: IntegerEnum(frequenciesOf.AGENTIC, { default: 30, description: 'Minutes between runs.' }),
  prompt: Type.String({
    minLength: 1,
    maxLength: promptLength,
    description:
      'The task, and the conditions that must hold. {{NAME}} is a variable of the check, its group or the account.',
  }),
  agentRuntime: Type.Object(
    {
      skills: Type.Array(Type.String({ minLength: 1, maxLength: 256 }), {
        maxItems: 50,
        uniqueItems: true,
        default: [],
      }),
    },
    { default: { skills: [] } },
  ),
};
