import Type, { type Static } from 'typebox';
import type { Fields } from '../../json-values.ts';
import { checkTypes } from '../../protocol/check-types.ts';
import { EnvironmentVariable } from '../../protocol/job.ts';
import { Nullable, StringEnum } from '../../protocol/schema.ts';
import { open, strict } from '../http/fields/strict-schema.ts';
import { matchTags, refreshCache, sessionRetryStrategy } from '../sessions/form.ts';
import { resourceTypes } from './kinds.ts';
import { actions } from './plan.ts';

/** Bodies of projects and deployments. */

/** Most resources of a project. */
export const maxResources = 5_000;

const logicalIdForm = '^[A-Za-z0-9_\\-/#.]{1,255}$';
const logicalIdText = '1 to 255 letters, digits, hyphens, underscores, slashes, dots or number signs';
const logicalId = Type.String({ pattern: logicalIdForm, description: logicalIdText });
const time = Type.String({ format: 'date-time' });

const ResourceSchema = Type.Object({
  type: StringEnum(resourceTypes),
  logicalId,
  physicalId: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 300,
      description: 'Id of an existing resource (key of a variable): the project takes it over.',
    }),
  ),
  member: Type.Boolean({
    default: true,
    description: 'False: the resource exists, and is used but never changed or deleted. It needs physicalId.',
  }),
  protected: Type.Boolean({
    default: false,
    description: 'If it leaves the files, it stays in the account and is detached.',
  }),
  payload: Type.Unsafe<Fields>({
    type: 'object',
    additionalProperties: true,
    default: {},
    description:
      'The body of the POST that creates one; a check also has checkType. ' +
      'In place of an id, `{"ref": logicalId}` names a resource of the project.',
  }),
});

export const DeployBody = strict(
  Type.Object({
    project: Type.Object({
      logicalId,
      name: Type.String({ minLength: 1, maxLength: 255 }),
      repoUrl: Nullable(Type.String({ maxLength: 2048 }), { default: null }),
    }),
    resources: Type.Array(ResourceSchema, { maxItems: maxResources }),
    planToken: Nullable(Type.String({ maxLength: 100 }), {
      default: null,
      description: 'Of a dry run: the deployment fails with PLAN_STALE if the account has changed since.',
    }),
  }),
);
export type DeployBody = Static<typeof DeployBody>;

export const TestBody = strict(
  Type.Object({
    project: DeployBody.properties.project,
    resources: DeployBody.properties.resources,
    all: Type.Boolean({ default: false, description: 'Also checks that the deployment would not change.' }),
    name: Type.Optional(
      Type.String({ maxLength: 256, description: 'Only checks whose name contains it, in any case.' }),
    ),
    matchTags: matchTags({ default: [] }),
    runLocation: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 64,
        description:
          "A location code or slug name; absent = where each check's first scheduled run would be.",
      }),
    ),
    environmentVariables: Type.Array(EnvironmentVariable, {
      maxItems: 50,
      default: [],
      description: 'They go before those of checks, groups and the account.',
    }),
    refreshCache,
    retryStrategy: sessionRetryStrategy('Left out, or null: failed attempts are not retried.'),
  }),
);

const testedCheck = {
  logicalId: Type.String(),
  name: Type.String(),
  checkType: StringEnum(checkTypes),
};

/** Answer of `POST /v1/projects/test`. */
export const ProjectTest = open(
  Type.Object(
    {
      testSessionId: Nullable(Type.String({ format: 'uuid' }), {
        description: 'Null = there is nothing to run.',
      }),
      testSessionLink: Nullable(Type.String()),
      startedAt: time,
      checks: Type.Array(
        Type.Object({
          ...testedCheck,
          checkId: Type.String({ format: 'uuid', description: 'Only of this session.' }),
          sequenceId: Type.String({ format: 'uuid' }),
          runLocation: Type.String(),
        }),
      ),
      skipped: Type.Array(Type.Object({ ...testedCheck, reason: Type.String() })),
    },
    { $id: 'ProjectTest', title: 'ProjectTest' },
  ),
);

const dryRun = Type.Boolean({ default: false, description: 'Only show what would change.' });
const preserveResources = Type.Boolean({
  default: false,
  description: 'Keep resources that are no longer part of the project, and detach them.',
});
export const DeployQuery = strict(
  Type.Object({
    dryRun,
    preserveResources,
    scheduleOnDeploy: Type.Boolean({ default: false, description: 'Run new and changed checks at once.' }),
    refuseDeletions: Type.Boolean({
      default: false,
      description: 'Fail with DELETIONS, and change nothing, if a resource would be deleted.',
    }),
  }),
);
export const DeleteQuery = strict(Type.Object({ dryRun, preserveResources }));

const Difference = Type.Object({
  property: Type.String(),
  before: Type.Optional(Type.Unknown()),
  after: Type.Optional(Type.Unknown()),
  isSecret: Type.Optional(Type.Literal(true, { description: 'Its values are not shown.' })),
});

export const ProjectChange = open(
  Type.Object(
    {
      type: StringEnum(resourceTypes),
      logicalId: Type.String(),
      physicalId: Nullable(Type.String()),
      action: StringEnum(actions),
      differences: Type.Array(Difference, {
        description: 'From the present state to the new one; empty for keys that cannot write.',
      }),
      changedByOthers: Type.Array(Difference, {
        description:
          'From the state after the last deployment to the present one; empty for keys that cannot write.',
      }),
      notice: Nullable(Type.String()),
    },
    { $id: 'ProjectChange', title: 'ProjectChange' },
  ),
);

export const Project = open(
  Type.Object(
    {
      logicalId: Type.String(),
      name: Type.String(),
      repoUrl: Nullable(Type.String()),
      resourceCount: Type.Integer(),
      resources: Type.Optional(
        Type.Array(
          Type.Object({
            type: StringEnum(resourceTypes),
            logicalId: Type.String(),
            physicalId: Type.String(),
            protected: Type.Boolean(),
            detached: Type.Boolean(),
          }),
          { description: 'Not in lists.' },
        ),
      ),
      created_at: time,
      updated_at: Nullable(time),
    },
    { $id: 'Project', title: 'Project' },
  ),
);

const owner = Nullable(Type.String(), { description: 'The project that owns it; null = none.' });

/** Answer of `GET /v1/resources`. */
export const ProjectResources = open(
  Type.Object(
    {
      accountId: Type.String({ format: 'uuid' }),
      resources: Type.Array(
        Type.Object({
          type: StringEnum(resourceTypes),
          logicalId: Type.String({ description: 'Made from the name if no project owns it.' }),
          physicalId: Type.String(),
          project: owner,
          protected: Type.Boolean(),
          payload: Type.Unsafe<Fields>({
            type: 'object',
            additionalProperties: true,
            description:
              'The body of the POST that creates one, without default values. Secret values are shown as *********.',
          }),
        }),
      ),
    },
    { $id: 'ProjectResources', title: 'ProjectResources' },
  ),
);

export const ResourcesQuery = strict(
  Type.Object({
    project: Type.Optional(Type.String({ description: 'Only resources of this project.' })),
    unowned: Type.Boolean({ default: false, description: 'Only resources that no project owns.' }),
  }),
);

const result = {
  diff: Type.Array(Type.Ref('ProjectChange')),
  planToken: Type.String(),
  warnings: Type.Optional(
    Type.Array(
      Type.Object({
        type: StringEnum(resourceTypes),
        logicalId: Type.String(),
        field: Type.String({ description: 'Dotted path of the field, like locations.0.' }),
        message: Type.String(),
      }),
      { description: 'Locations of new and changed checks and groups that no connected agent serves.' },
    ),
  ),
};

export const ProjectPlan = open(
  Type.Object(
    {
      project: Type.Object({ logicalId: Type.String(), name: Type.String() }),
      ...result,
    },
    { $id: 'ProjectPlan', title: 'ProjectPlan' },
  ),
);

export const statuses = ['PENDING', 'RUNNING', 'SUCCEEDED', 'FAILED', 'CANCELLED'] as const;

export const ProjectDeployment = open(
  Type.Object(
    {
      id: Type.String({ format: 'uuid' }),
      logicalId: Type.String(),
      status: StringEnum(statuses),
      dryRun: Type.Literal(false),
      progress: Type.Integer({ minimum: 0, maximum: 100, description: 'Percent.' }),
      error: Nullable(
        Type.Object({
          code: Type.String({
            description: 'INVALID, PLAN_STALE, DELETIONS, CANCELLED, ABANDONED or INTERNAL.',
          }),
          message: Type.String(),
          attributes: Type.Optional(Type.Record(Type.String(), Type.Array(Type.String()))),
        }),
      ),
      result: Nullable(Type.Object(result)),
      createdAt: time,
      startedAt: Nullable(time),
      endedAt: Nullable(time),
      cancelRequestedAt: Nullable(time),
    },
    { $id: 'ProjectDeployment', title: 'ProjectDeployment' },
  ),
);
