import Type, { type Static } from 'typebox';
import { IntegerEnum, StringEnum } from '../../protocol/schema.ts';

export const AlertSettings = Type.Object(
  {
    escalationType: StringEnum(['RUN_BASED', 'TIME_BASED'], { default: 'RUN_BASED' }),
    runBasedEscalation: Type.Object(
      { failedRunThreshold: IntegerEnum([1, 2, 3, 4, 5], { default: 1 }) },
      { default: { failedRunThreshold: 1 } },
    ),
    timeBasedEscalation: Type.Object(
      { minutesFailingThreshold: IntegerEnum([5, 10, 15, 30], { default: 5 }) },
      { default: { minutesFailingThreshold: 5 } },
    ),
    reminders: Type.Object(
      {
        amount: IntegerEnum([0, 1, 2, 3, 4, 5, 100_000], { default: 0, description: '100000 = unlimited.' }),
        interval: IntegerEnum([1, 2, 3, 4, 5, 10, 15, 30], { default: 5, description: 'Minutes.' }),
      },
      { default: { amount: 0, interval: 5 } },
    ),
    parallelRunFailureThreshold: Type.Object(
      {
        enabled: Type.Boolean({ default: false }),
        percentage: IntegerEnum([10, 20, 30, 40, 50, 60, 70, 80, 90, 100], { default: 10 }),
      },
      { default: { enabled: false, percentage: 10 } },
    ),
  },
  {
    default: {
      escalationType: 'RUN_BASED',
      runBasedEscalation: { failedRunThreshold: 1 },
      timeBasedEscalation: { minutesFailingThreshold: 5 },
      reminders: { amount: 0, interval: 5 },
      parallelRunFailureThreshold: { enabled: false, percentage: 10 },
    },
    description: "The check's own alert settings; they apply when useGlobalAlertSettings is false.",
  },
);

export type AlertSettings = Static<typeof AlertSettings>;

/** Used for accounts without settings and for fields that are not stored. */
export const defaultAlertSettings: AlertSettings = {
  escalationType: 'RUN_BASED',
  runBasedEscalation: { failedRunThreshold: 1 },
  timeBasedEscalation: { minutesFailingThreshold: 5 },
  reminders: { amount: 0, interval: 5 },
  parallelRunFailureThreshold: { enabled: false, percentage: 10 },
};

/** Stored settings, completed with the defaults. */
export const filledAlertSettings = (settings: Partial<AlertSettings> | null): AlertSettings => ({
  ...defaultAlertSettings,
  ...settings,
});
