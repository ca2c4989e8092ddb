import { resolve } from 'node:path';
import { exitCodes } from '../../errors.ts';
import { isFields, type Fields } from '../../json-values.ts';
import { isCheckType } from '../../protocol/check-types.ts';
import { CreateChannel } from '../../service/alert-channels/schema.ts';
import { groupSchemas } from '../../service/checks/fields/group-schema.ts';
import { checkSchemas } from '../../service/checks/fields/schema.ts';
import { createProblems } from '../../service/http/problems.ts';
import { resourceTypes } from '../../service/projects/kinds.ts';
import { resolved } from '../../service/projects/references.ts';
import { parseArguments, usageError, type Command } from '../command.ts';
import { validateLine } from '../line/project.ts';
import { withDefaults } from '../../service/http/fields/defaults.ts';
import { schemaErrors, type FieldErrors } from '../run/schema.ts';
import { printable } from '../terminal-text.ts';
import { readProject, type FileResource, type ProjectFiles } from './files.ts';

/** `validate [DIR]`: checks the files of a project without a service. */
export const validate: Command = async (args, { stdout, stderr }) => {
  const { positionals } = parseArguments(args, validateLine);
  const [folder = '.', ...others] = positionals;
  if (others.length > 0) throw usageError('validate takes one folder', validateLine);
  const files = await readProject(resolve(folder), null);
  const problems = [...files.problems, ...problemsOf(files)];
  for (const problem of problems) stderr(`${printable(problem)}\n`);
  if (problems.length > 0) return exitCodes.failed;
  stdout(`${files.resources.length} resources of ${files.project.logicalId} are valid\n`);
  return exitCodes.done;
};

/** What the files break of the schemas of the API, and references that name nothing. */
export function problemsOf({ resources }: ProjectFiles): string[] {
  return resources.flatMap((resource) => {
    const isKnown = resourceTypes.some((type) => type === resource.type);
    if (!isKnown) {
      return [`${resource.place(['kind'])}: kind must be one of ${resourceTypes.join(', ')}`];
    }
    const problems = createProblems();
    const { payload } = resolved({
      payload: resource.payload,
      at: 'file',
      // Any id is valid in place of a reference; those of checks and services are texts.
      lookup: (type, logicalId) =>
        resources.some((one) => one.type === type && one.logicalId === logicalId)
          ? typesWithNumbers.includes(type)
            ? 1
            : 'an-id'
          : undefined,
      problems,
    });
    const unknown = Object.entries(problems.attributes() ?? {}).map(([path, reasons]): [string, string[]] => [
      path.slice('file.'.length),
      reasons,
    ]);
    const invalid = Object.entries(schemaProblems(resource, payload)).filter(
      ([path]) => !unknown.some(([field]) => field === path),
    );
    return [...unknown, ...invalid].flatMap(([path, reasons]) =>
      reasons.map((reason) => `${resource.place(path.split('.'))}: ${path} ${reason}`),
    );
  });
}

const typesWithNumbers: readonly string[] = ['check-group', 'alert-channel', 'snippet'];

function schemaProblems(resource: FileResource, payload: Fields): FieldErrors {
  const { checkType, ...body } = payload;
  if (resource.member === false) return {};
  if (resource.type === 'check') {
    if (typeof checkType !== 'string' || !isCheckType(checkType)) {
      return { checkType: [`must be one of ${Object.keys(checkSchemas).join(', ')}`] };
    }
    return errorsOf(checkSchemas[checkType].create, body);
  }
  if (resource.type === 'check-group') return errorsOf(groupSchemas.v2.create, payload);
  if (resource.type === 'alert-channel') return errorsOf(CreateChannel, payload);
  return {};
}

function errorsOf(schema: object, body: unknown): FieldErrors {
  const whole = withDefaults(schema, body);
  return isFields(whole) ? (schemaErrors(schema, whole) ?? {}) : {};
}
